"""Lines that strace 6.1 wrote -> contacts. Paths of services and some addresses and names are put in afterwards."""

from __future__ import annotations

import sys

import pytest

from local_rag.diagnostics.recorder.strace import traced

PLAIN = r"""
9476  connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS (Operation now in progress)
9476  connect(3, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = -1 EINPROGRESS (Operation now in progress)
9476  connect(4, {sa_family=AF_INET, sin_port=htons(43759), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
9476  connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file or directory)
9476  sendto(5, "\24\0\0\0", 20, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20
9476  connect(3, {sa_family=AF_UNSPEC, sa_data="\0\0\0\0\0\0\0\0\0\0\0\0\0\0"}, 16) = 0
2830<python3> sendto(3<socket:[596120]>, "x", 1, 0, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::2", &sin6_addr), sin6_scope_id=0}, 28) = -1 ENETUNREACH (Network is unreachable)
16065<python> --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=16070, si_uid=0, si_status=7, si_utime=0, si_stime=0} ---
16065<python> +++ exited with 0 +++
"""  # noqa: E501

CUT = r"""
16067<python> connect(5<socket:[562598]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.53")}, 16 <unfinished ...>
16065<python> connect(4<socket:[562095]>, {sa_family=AF_INET, sin_port=htons(42669), sin_addr=inet_addr("127.0.0.1")}, 16 <unfinished ...>
16065<python> <... connect resumed>)    = 0
16067<python> <... connect resumed>)    = 0
16068<python> sendmmsg(5<socket:[562598]>,  <unfinished ...>
16068<python> <... sendmmsg resumed>[{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="\317\315\1\0\0\1\0\0\0\0\0\0\7nothing\7invalid\0\0\1\0\1", iov_len=33}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=33}, {msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="\370\301\1\0\0\1\0\0\0\0\0\0\7nothing\7invalid\0\0\34\0\1", iov_len=33}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=33}], 2, MSG_NOSIGNAL) = 2
16070<curl> connect(6<socket:[562609]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.1")}, 16 <unfinished ...>
"""  # noqa: E501

SERVICES = r"""
2830<python3> connect(4<socket:[596110]>, {sa_family=AF_UNIX, sun_path="/run/systemd/resolve/io.systemd.Resolve"}, 42) = 0
2830<python3> sendto(4<socket:[596110]>, "{\"method\":\"io.systemd.Resolve.ResolveHostname\",\"parameters\":{\"name\":\"one.test\",\"flags\":0}}\0", 94, 0, NULL, 0) = 94
2830<python3> connect(3<socket:[596114]>, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = 0
2830<python3> sendto(3<socket:[596114]>, "\2\0\0\0\16\0\0\0\t\0\0\0two.test\0", 21, 0, NULL, 0) = 21
2830<python3> connect(5<socket:[596115]>, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = 0
2830<python3> sendto(5<socket:[596115]>, "\2\0\0\0\1\0\0\0\5\0\0\0001000\0", 17, 0, NULL, 0) = 17
2830<python3> connect(6<socket:[596116]>, {sa_family=AF_UNIX, sun_path="/var/run/avahi-daemon/socket"}, 110) = 0
"""  # noqa: E501


def seen(lines):
    return [(one.host, one.port, one.what, one.failed) for one in traced(lines.splitlines()).contacts]


def test_addresses_of_both_families_and_the_calls_that_reach_nobody():
    assert seen(PLAIN) == [
        ("192.0.2.1", 443, "elsewhere", ""),
        ("2001:db8::1", 443, "elsewhere", ""),
        ("127.0.0.1", 43759, "loopback", ""),
        ("2001:db8::2", 443, "elsewhere", "ENETUNREACH"),
    ]


def test_a_call_on_two_lines_one_that_never_returned_and_the_question_to_a_connected_name_server():
    assert seen(CUT) == [
        ("127.0.0.1", 42669, "loopback", ""),
        ("nothing.invalid", None, "name look-up", ""),
        ("192.0.2.1", 80, "elsewhere", ""),
    ]
    assert [one.by for one in traced(CUT.splitlines()).contacts] == [
        "connect by python",
        "asked of the name server 192.0.2.53, by python",
        "connect by curl",
    ]


@pytest.mark.skipif(sys.byteorder != "little", reason="nscd is asked in the machine's own byte order")
def test_services_of_this_machine_that_look_names_up():
    assert seen(SERVICES) == [
        ("one.test", None, "name look-up", ""),
        ("two.test", None, "name look-up", ""),
        ("a name that cannot be read", None, "name look-up", ""),
    ]
    assert "avahi-daemon" in traced(SERVICES.splitlines()).contacts[-1].by


UDP_53 = '{sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}'


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (r"\0224\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1", "example.org"),
        (r"\0\35\0224\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1", "example.org"),
        (r"\0224\1\0\0\1\0\0\0\0\0\0\0023x\3\"\n\\\0\0\1\0\1", '3x."\n\\'),
        (r"\0224\201\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1", "a name that cannot be read"),
        (r"\0224\1\0\0\1\0\0\0\0\0\0\7exam", "a name that cannot be read"),
        ("", "a name that cannot be read"),
    ],
    ids=["UDP", "TCP", "escapes", "an answer", "cut off", "nothing"],
)
def test_a_stub_on_loopback_asks_others(message, name):
    line = rf'7 sendto(3<socket:[9]>, "{message}", 29, 0, {UDP_53}, 16) = 29'
    assert seen(line) == [(name, None, "name look-up", "")]
    both = f'7 connect(3<socket:[9]>, {UDP_53}, 16) = 0\n7 sendto(3<socket:[9]>, "{message}", 29, 0, NULL, 0) = 29'
    assert seen(both) == [(name, None, "name look-up", "")]


def test_what_a_message_says_is_no_address():
    text = r"{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr(\"192.0.2.9\")} <unfinished ...>"
    assert seen(f'7 sendto(3<socket:[9]>, "{text}", 90, 0, NULL, 0) = 90') == []
    assert seen(f'7 sendto(3<socket:[9]>, "{text}"..., 900, 0, NULL, 0) = 900') == []


def test_a_family_that_is_not_known_is_elsewhere():
    line = "7 connect(4<socket:[9]>, {sa_family=AF_VSOCK, svm_cid=VMADDR_CID_HOST, svm_port=0x63}, 16) = 0"
    ((host, port, what, _),) = seen(line)
    assert host.startswith("AF_VSOCK")
    assert (port, what) == (None, "elsewhere")


def test_io_uring_is_told_where_it_was_set_up():
    line = "7<uv> io_uring_setup(64, {flags=0, sq_thread_cpu=0}) = "
    assert traced([f"{line}5<anon_inode:[io_uring]>"]).rings == ("uv",)
    assert traced([f"{line}-1 EPERM (Operation not permitted)"]).rings == ()
