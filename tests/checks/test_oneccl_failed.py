"""oneccl-failed: seen in logs."""

from gpudoctor import explain

AT = "2026:03:04-05:06:07:( 4711) "
MESSAGE = "oneCCL failed"
EXAMPLES = {
    f"{AT}|CCL_ERROR| base_thread.cpp:36 start: error while creating worker thread #0 pthread_create returns 22": (
        f"{MESSAGE}: its worker thread could not be started on the processor that it chose"
    ),
    "RuntimeError: oneCCL: exec.cpp:134 start_workers: EXCEPTION: failed to start worker # 0": (
        f"{MESSAGE}: its worker could not be started on the processor that it chose"
    ),
    f"{AT}|CCL_ERROR| topo_manager.cpp:610 fill_env_colors: unexpected number of domains": (
        f"{MESSAGE}: unexpected number of domains"
    ),
    "RuntimeError: oneCCL: coll_param.cpp:455 validate: EXCEPTION: unsupported reduction": (
        f"{MESSAGE}: unsupported reduction"
    ),
    f"{AT}|CCL_ERROR| atl_ofi_helper.cpp:867 atl_ofi_get_prov_list: fi_getinfo error: ret -61, providers 0": (
        f"{MESSAGE}: no network that libfabric can use (fi_getinfo error)"
    ),
    f"{AT}|CCL_ERROR| atl_ofi.cpp:243 init: can't find suitable provider": (
        f"{MESSAGE}: no network that libfabric can use (can't find suitable provider)"
    ),
    f"{AT}|CCL_ERROR| global.cpp:150 getenv_local_coord: condition ze_ipc_exchange == sockets failed": (
        f"{MESSAGE}: it does not know the ranks of this host (getenv_local_coord)"
    ),
    "to get local_idx/count from ATL, set CCL_ZE_IPC_EXCHANGE=sockets explicitly": (
        f"{MESSAGE}: it does not know the ranks of this host (to get local_idx/count from ATL)"
    ),
}
NOT_THIS = [
    f"{AT}|CCL_WARN| could not get local_idx/count from environment variables, trying to get them from ATL",
    f"{AT}|CCL_INFO| ze fini completed",
    "UserWarning: Warning: Cannot load xpu CCL. CCL doesn't work for XPU device",
]


def test_a_process_that_crashes_below_it_is_its_consequence():
    log = f"{AT}|CCL_ERROR| atl_ofi.cpp:243 init: can't find suitable provider\nSegmentation fault (core dumped)\n"
    assert [finding.id for finding in explain(log).findings] == ["oneccl-failed", "child-segfault"]


def test_the_first_fix_is_for_what_the_line_says():
    pinned = f"{AT}|CCL_ERROR| base_thread.cpp:36 start: error while creating worker thread #1 pthread_create returns 22"
    [finding] = explain(pinned).findings
    assert "CCL_WORKER_AFFINITY" in finding.fixes[0].command
    assert not any("fi_info" in fix.command for fix in finding.fixes)
