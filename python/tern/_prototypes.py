# SPDX-License-Identifier: Apache-2.0
"""The functions of libtern that the bindings may call, by header: results and arguments as words.

    ptr   any pointer: an address as int, a ctypes object, byref(...), bytes, or None
    text  a constant C string (results only; bytes in Python, None for NULL)
    int, i32, u32, i64, u64, u8, size, double, bool, none   as their names say; enums are int

A test compares every line with the headers. Leaves out what only kernels call, and functions with
a FILE pointer or a variable argument list, but for those that people want printed.
"""

from __future__ import annotations

HEADERS = {
    "algo.h": """
        int tern_algo_plan(ptr, ptr)
        text tern_algo_name(int, int)
        text tern_algo_text(int, int)
        bool tern_algo_in_place(int, int)
        bool tern_algo_around_cut(int, int)
        bool tern_algo_across_machines(int, int)
        int tern_comm_topo(ptr, ptr)
    """,
    "async.h": """
        int tern_session_create(ptr)
        int tern_session_destroy(ptr)
        int tern_async_put(ptr, ptr, ptr, size, ptr)
        int tern_async_get(ptr, ptr, ptr, size, ptr)
        int tern_session_wait(ptr, u64)
        int tern_session_test(ptr, u64)
    """,
    "certificate.h": """
        int tern_certificate_make(ptr, ptr)
        int tern_certificate_destroy(ptr)
        int tern_certificate_save(ptr, ptr)
        int tern_certificate_load(ptr, ptr)
        int tern_certificate_check(ptr, ptr, ptr)
    """,
    "check.h": """
        int tern_check_plan(ptr, ptr, ptr)
        int tern_check_plan_in_place(ptr, ptr, ptr)
        int tern_check_destroy(ptr)
        int tern_check_quicken(ptr, ptr)
        bool tern_check_proved(ptr)
        int tern_check_sum_order(ptr)
        size tern_check_count(ptr, int)
        bool tern_check_decided(ptr, int)
        text tern_check_finding(ptr, int, size)
        bool tern_check_get_detail(ptr, int, size, ptr)
        int tern_check_print(ptr, ptr)
    """,
    "coll.h": """
        int tern_all_reduce(ptr, ptr, ptr, size, int, int)
        int tern_reduce_scatter(ptr, ptr, ptr, size, int, int)
        int tern_all_gather(ptr, ptr, ptr, size, int)
        int tern_broadcast(ptr, ptr, ptr, size, int, int)
        int tern_reduce(ptr, ptr, ptr, size, int, int, int)
        int tern_gather(ptr, ptr, ptr, size, int, int)
        int tern_scatter(ptr, ptr, ptr, size, int, int)
        int tern_all_to_all(ptr, ptr, ptr, size, int)
        int tern_barrier(ptr)
        int tern_send(ptr, ptr, size, int, int)
        int tern_recv(ptr, ptr, size, int, int)
        int tern_send_recv(ptr, ptr, size, int, ptr, size, int, int)
        int tern_all_gather_v(ptr, ptr, ptr, ptr, ptr, int)
        int tern_reduce_scatter_v(ptr, ptr, ptr, ptr, int, int)
        int tern_gather_v(ptr, ptr, size, ptr, ptr, ptr, int, int)
        int tern_scatter_v(ptr, ptr, ptr, ptr, ptr, size, int, int)
        int tern_all_to_all_v(ptr, ptr, ptr, ptr, ptr, ptr, ptr, int)
        int tern_coll_run(ptr, ptr)
        int tern_coll_start(ptr, ptr, ptr)
        int tern_coll_prepare(ptr, ptr, ptr)
        int tern_request_start(u64)
        int tern_request_test(ptr)
        int tern_request_wait(ptr)
        int tern_request_wait_any(ptr, int, ptr)
        int tern_request_wait_all(ptr, int)
        int tern_request_free(ptr)
    """,
    "comm.h": """
        int tern_init(ptr, ptr)
        int tern_init_at(int, int, ptr, ptr, ptr)
        int tern_comm_rank(ptr)
        int tern_comm_size(ptr)
        int tern_comm_barrier(ptr)
        int tern_comm_split(ptr, int, int, ptr)
        int tern_comm_create_group(ptr, ptr, int, u64, ptr)
        int tern_comm_health(ptr)
        int tern_comm_abort(ptr, ptr)
        int tern_comm_destroy(ptr)
        int tern_comm_release(ptr)
    """,
    "dtype.h": """
        size tern_dtype_size(int)
        text tern_dtype_name(int)
        int tern_dtype_parse(ptr, ptr)
    """,
    "exec.h": """
        int tern_exec_create(ptr, ptr, ptr, ptr)
        int tern_exec_start(ptr)
        int tern_exec_test(ptr)
        int tern_exec_wait(ptr)
        int tern_exec_run(ptr)
        u64 tern_exec_link_bytes(ptr, int, int)
        int tern_exec_destroy(ptr)
    """,
    "graph.h": """
        int tern_chip_create(ptr, ptr, ptr)
        int tern_chip_destroy(ptr)
        int tern_graph_create(ptr)
        int tern_graph_destroy(ptr)
        int tern_graph_load(ptr, ptr)
        int tern_graph_add_task(ptr, ptr, ptr)
        int tern_graph_add_edge(ptr, int, int)
        int tern_graph_add_wait(ptr, int, ptr, i32)
        int tern_graph_task_count(ptr)
        text tern_graph_task_name(ptr, int)
        int tern_chip_launch(ptr, ptr)
        int tern_chip_synchronize(ptr)
        int tern_chip_orchestrate(ptr, ptr, ptr, ptr, ptr)
        int tern_graph_publish(ptr, int)
        int tern_graph_run(ptr)
        int tern_chip_cores(ptr, int)
        int tern_chip_code(ptr)
        text tern_graph_code_name(int)
        int tern_kernel_run()
        int tern_kernel_core()
        int tern_kernel_block()
    """,
    "interrupt.h": """
        ptr tern_interrupt_set(ptr)
    """,
    "job.h": """
        int tern_job_report(int, int, int, ptr)
        int tern_job_list(ptr)
    """,
    "kind.h": """
        ptr tern_coll_kind_facts(int)
        text tern_coll_kind_name(int)
        int tern_coll_kind_parse(ptr, ptr)
        text tern_plan_kind_name(int)
        int tern_plan_kind_parse(ptr, ptr)
    """,
    "machine.h": """
        int tern_machine_look(ptr)
        text tern_version()
    """,
    "memory.h": """
        int tern_alloc(ptr, size, ptr)
        int tern_free(ptr)
        int tern_memory_owner(ptr)
    """,
    "node.h": """
        int tern_node_create(ptr, ptr, ptr)
        int tern_node_release(ptr, ptr, ptr)
        int tern_node_chips(ptr)
        int tern_node_serve(ptr, ptr)
        bool tern_node_task_args(ptr)
        int tern_node_load(ptr, ptr)
        int tern_node_launch(ptr, ptr, ptr)
        int tern_node_synchronize(ptr)
        int tern_node_submit(ptr, ptr, ptr)
        int tern_domain_create(ptr, ptr, int, size, ptr)
        int tern_domain_destroy(ptr)
        ptr tern_domain_address(ptr, int)
        int tern_domain_write(ptr, int, size, ptr, size)
        int tern_domain_read(ptr, int, size, ptr, size)
    """,
    "op.h": """
        text tern_reduce_op_name(int)
        int tern_reduce_op_parse(ptr, ptr)
        size tern_reduce_element_bytes(int, int)
    """,
    "plan.h": """
        int tern_plan_create(ptr, ptr)
        int tern_plan_need_scratch(ptr, u64)
        int tern_plan_add(ptr, int, int, ptr)
        int tern_plan_seal(ptr)
        int tern_plan_destroy(ptr)
        ptr tern_plan_get_spec(ptr)
        u64 tern_plan_buffer_bytes(ptr, int)
        int tern_plan_lane_count(ptr, int)
        size tern_plan_op_count(ptr, int, int)
        int tern_plan_get_op(ptr, int, int, size, ptr)
        u32 tern_plan_signal_count(ptr, int)
        int tern_plan_round_count(ptr)
        size tern_plan_total_ops(ptr)
        size tern_plan_memory(ptr)
        int tern_plan_fuse(ptr, ptr)
        int tern_plan_print(ptr, ptr, ptr)
        int tern_plan_parse(ptr, size, ptr, ptr)
        int tern_plan_save(ptr, ptr)
        int tern_plan_load(ptr, ptr)
    """,
    "program.h": """
        int tern_program_create(ptr, ptr)
        text tern_program_name(int)
        text tern_program_text(int)
        int tern_program_plan(ptr, ptr)
        ptr tern_program_get_spec(ptr)
        int tern_program_destroy(ptr)
    """,
    "put.h": """
        int tern_put(ptr, int, size, ptr, size)
        int tern_get(ptr, int, size, ptr, size)
        int tern_put_block(ptr, int, size, ptr, ptr)
        int tern_get_block(ptr, int, size, ptr, ptr)
        int tern_put_add(ptr, int, size, ptr, size, int)
    """,
    "region.h": """
        size tern_region_dtype_size(u8)
        int tern_region_make(ptr, ptr, ptr, int, int)
        int tern_region_view(ptr, ptr, ptr, ptr)
        int tern_region_reshape(ptr, ptr, int, ptr)
        int tern_region_transpose(ptr, int, int, ptr)
        u64 tern_region_count(ptr)
        bool tern_region_is_contiguous(ptr)
    """,
    "signal.h": """
        int tern_signal_notify(ptr, int, size, i32, int)
        int tern_signal_wait(ptr, size, int, i32, i64)
        int tern_signal_test(ptr, size, int, i32)
        int tern_signal_read(ptr, size, ptr)
        int tern_signal_wait_all(ptr, size, i64)
        int tern_signal_wait_any(ptr, size, i64, ptr)
    """,
    "sim.h": """
        int tern_sim_run(ptr, ptr, ptr, ptr)
        int tern_sim_run_program(ptr, ptr, ptr, ptr)
        int tern_sim_destroy(ptr)
        ptr tern_sim_get_facts(ptr)
        double tern_sim_rank_us(ptr, int)
        text tern_sim_stuck(ptr)
        bool tern_sim_get_use(ptr, size, ptr)
        bool tern_sim_get_loss(ptr, ptr)
        bool tern_sim_get_step(ptr, size, ptr)
        bool tern_sim_get_part(ptr, size, ptr)
    """,
    "status.h": """
        text tern_status_name(int)
        text tern_status_text(int)
        text tern_last_error()
    """,
    "submit.h": """
        int tern_graph_create_rings(ptr, ptr)
        int tern_graph_submit(ptr, ptr, ptr)
        int tern_graph_scope_begin(ptr, int)
        int tern_graph_scope_end(ptr)
        int tern_graph_get_element(ptr, ptr, ptr, ptr)
        int tern_graph_set_element(ptr, ptr, ptr, u64)
        bool tern_graph_is_fatal(ptr)
        int tern_graph_marks(ptr, ptr)
    """,
    "summary.h": """
        int tern_summary_make(ptr, ptr, ptr)
        int tern_summary_print(ptr, ptr)
    """,
    "topo.h": """
        int tern_topo_create(ptr, ptr)
        int tern_topo_destroy(ptr)
        text tern_topo_form(int)
        text tern_topo_preset(int)
        int tern_topo_cut(ptr, ptr)
        int tern_topo_slow(ptr, ptr)
        int tern_topo_size(ptr)
        bool tern_topo_link(ptr, int, int, ptr)
        i64 tern_topo_link_count(ptr)
        int tern_topo_machine_count(ptr)
        bool tern_topo_get_machine(ptr, int, ptr)
        int tern_topo_machine_of(ptr, int)
        int tern_topo_machine_rank(ptr, int, int)
        int tern_topo_resource_count(ptr)
        bool tern_topo_get_resource(ptr, int, ptr)
        int tern_topo_uses(ptr, int, int, ptr)
        text tern_topo_text(ptr)
    """,
    "trace.h": """
        int tern_trace_begin(size)
        int tern_trace_end(ptr, ptr)
    """,
    "tune.h": """
        int tern_tune_check()
        int tern_coll_select(ptr, int, int, ptr)
        int tern_coll_plan(ptr, ptr, ptr)
        int tern_tune_get(int, int, ptr)
        int tern_tune_get_built_in(int, int, ptr)
        int tern_tune_use(ptr, int)
        int tern_tune_load(ptr, ptr, ptr)
        int tern_tune_print(ptr, ptr, size)
        int tern_tune_path(ptr, size)
        int tern_tune_default_path(ptr, size)
    """,
    "window.h": """
        int tern_window_create(ptr, size, ptr, ptr)
        int tern_window_destroy(ptr)
        int tern_window_release(ptr)
        size tern_window_size(ptr)
        int tern_window_is_local(ptr, int)
        ptr tern_window_address(ptr, int)
        ptr tern_window_context(ptr)
        int tern_window_find(ptr, ptr, ptr, ptr)
    """,
    "faces/comm.h": """
        ptr comm_init(int, int, ptr)
        int comm_alloc_windows(ptr, size, ptr)
        int comm_get_local_window_base(ptr, ptr)
        int comm_get_window_size(ptr, ptr)
        int comm_barrier(ptr)
        int comm_destroy(ptr)
    """,
}
