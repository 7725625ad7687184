"""A filter that takes from a hostile process the system calls that no ordinary program needs.

A deny list in classic BPF for x86-64 and AArch64, as Linux takes it (seccomp(2)). Denied calls fail with
EPERM.
"""

import struct

from turncoat.platform.config.errors import BadInput

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of linux/audit.h, by machine name."""

# Name: number on x86-64, number on AArch64, where it exists.
DENIED: dict[str, tuple[int | None, int | None]] = {
    # New processes, threads and programs.
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "clone3": (435, 435),
    "execve": (59, 221),
    "execveat": (322, 281),
    # Other processes: their memory, files, signals, limits and priorities.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "prlimit64": (302, 261),
    "setrlimit": (160, 164),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # Network, and memory that outlives its process or escapes its limit.
    "socket": (41, 198),
    "socketpair": (53, 199),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # Namespaces, mounts, and parts of the kernel with a long record of bugs.
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "personality": (135, 92),
    "syslog": (103, 116),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
}

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050001  # the last one: errno 1, EPERM
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # offsets in struct seccomp_data
_X32 = 0x40000000  # x86-64 has a second set of calls from here on


def bpf(machine: str) -> bytes:
    """The filter, as an array of `struct sock_filter`. machine: as `platform.machine()` names it.

    Raises BadInput on a machine whose system calls are not listed.
    """
    if machine not in ARCHITECTURES:
        raise BadInput(
            f"sandbox.kind: 'bubblewrap' is for {' and '.join(ARCHITECTURES)}, not {machine}; use 'monty'"
        )
    column = list(ARCHITECTURES).index(machine)
    numbers = [number for call in DENIED.values() if (number := call[column]) is not None]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _FAIL),
    ]
    for number in numbers:
        lines += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *line) for line in lines)
