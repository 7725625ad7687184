"""How values cross between the program's session and the tests' session: as JSON text of plain literals.

`exchange` is run inside the sandboxes, from its source, so it stands alone and keeps to what monty can run.
Objects never cross, so nothing that a program returns can lie about being equal.
"""


# The names it needs are bound as defaults: a program may call its own variable `list`.
def exchange(
    isinstance=isinstance,
    bool=bool,
    int=int,
    float=float,
    complex=complex,
    str=str,
    bytes=bytes,
    list=list,
    tuple=tuple,
    set=set,
    frozenset=frozenset,
    dict=dict,
    len=len,
    range=range,
    hex=hex,
    repr=repr,
    type=type,
    Exception=Exception,
    TypeError=TypeError,
    MemoryError=MemoryError,
):
    """(pack, serve, result).

    pack(value) -> JSON text; raises TypeError for anything but None, bool, int, float, complex, str, bytes,
    list, tuple, set, frozenset and dict (subclasses cross as these). serve(function, text) -> JSON text: the
    result of `function` for the packed (args, kwargs) in `text`, or what it raised. result(text) -> that
    result, or raises the same: a common built-in exception by its name, RuntimeError for any other.
    """
    import json

    dumps = json.dumps
    loads = json.loads

    def plain(value):
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return ["str", value]
        if isinstance(value, int):
            return ["int", hex(value)]
        if isinstance(value, float):
            return ["float", repr(float(value))]
        if isinstance(value, complex):
            return ["complex", repr(value.real), repr(value.imag)]
        if isinstance(value, bytes):
            return ["bytes", value.hex()]
        if isinstance(value, dict):
            items = []
            for key, item in value.items():
                items.append(plain(key))
                items.append(plain(item))
            return ["dict", items]
        for name, kind in (("list", list), ("tuple", tuple), ("set", set), ("frozenset", frozenset)):
            if isinstance(value, kind):
                return [name, [plain(item) for item in value]]
        raise TypeError(type(value).__name__ + " is no literal")

    def whole(value):
        if value is None or value is True or value is False:
            return value
        name = value[0]
        if name == "str":
            return value[1]
        if name == "int":
            return int(value[1], 16)
        if name == "float":
            return float(value[1])
        if name == "complex":
            return complex(float(value[1]), float(value[2]))
        if name == "bytes":
            return bytes.fromhex(value[1])
        items = [whole(item) for item in value[1]]
        if name == "dict":
            return {items[i]: items[i + 1] for i in range(0, len(items), 2)}
        if name == "list":
            return items
        if name == "tuple":
            return tuple(items)
        if name == "set":
            return set(items)
        if name == "frozenset":
            return frozenset(items)
        raise TypeError("no such kind of value")

    def pack(value):
        return dumps(plain(value))

    def serve(function, text):
        try:
            args, kwargs = whole(loads(text))
            return dumps(["value", plain(function(*args, **kwargs))])
        except MemoryError:
            raise
        except Exception as error:
            return dumps(["raised", type(error).__name__, str(error)[:200]])

    def result(text):
        reply = loads(text)
        if reply[0] == "value":
            return whole(reply[1])
        raise raised.get(reply[1], RuntimeError)(reply[2])

    raised = {
        "ValueError": ValueError,
        "TypeError": TypeError,
        "KeyError": KeyError,
        "IndexError": IndexError,
        "ZeroDivisionError": ZeroDivisionError,
        "AttributeError": AttributeError,
        "NameError": NameError,
        "OverflowError": OverflowError,
        "NotImplementedError": NotImplementedError,
        "RecursionError": RecursionError,
        "StopIteration": StopIteration,
    }
    return pack, serve, result
