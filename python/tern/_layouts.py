# SPDX-License-Identifier: Apache-2.0
"""The structures of the headers that plans and graphs use, as ctypes knows them. Each is named by
its C name; a test lets a C compiler compare every field with the headers."""

from __future__ import annotations

import ctypes
import numbers
from ctypes import c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t
from ctypes import c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

from ._errors import argument_error

NAME_BYTES_MAX = 160  # tern_summary.bound_text
REGION_DIMS_MAX = 5
RINGS = 4


LIMITS = {  # of these ctypes would take the low bits
    kind: (-(1 << bits - 1), 1 << bits - 1) if kind(-1).value < 0 else (0, 1 << bits)
    for kind in (c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64)
    for bits in (8 * ctypes.sizeof(kind),)
}


def within(kind, value, what: str):
    """The number, where a C type has room for it; ArgumentError else."""
    low, high = LIMITS[kind]
    if isinstance(value, numbers.Integral) and not low <= value < high:
        raise argument_error(f"{what} is {value}; it is a whole number from {low} to {high - 1}")
    return value


def array_of(kind, values, what: str):
    """A C array of at least one number, each of which there is room for."""
    values = [within(kind, value, what) for value in values]
    return (kind * max(len(values), 1))(*values)


class Checked(ctypes.Structure):
    """A structure that is made of numbers that its fields have room for."""

    def __init__(self, *values, **named) -> None:
        for (field, kind), value in zip(self._fields_, values):
            named[field] = value
        kinds = dict(self._fields_)
        for field, value in named.items():
            if kinds.get(field) in LIMITS:
                within(kinds[field], value, field.rstrip("_"))
        ctypes.Structure.__init__(self, **named)


def _struct(name: str, header: str, *fields):
    """A structure whose C_NAME and HEADER the test reads."""
    return type(name, (Checked,),
                {"_fields_": list(fields), "C_NAME": name, "HEADER": header})


Link = _struct("tern_link", "topo.h", ("bandwidth_GBps", c_double), ("latency_us", c_double))

PlanSpec = _struct(
    "tern_plan_spec", "plan.h", ("kind", c_int), ("nranks", c_int), ("bytes", c_uint64),
    ("unit", c_uint32), ("root", c_int), ("algorithm", c_char_p), ("slots", c_uint32))

PlanRange = _struct("tern_plan_range", "plan.h", ("offset", c_uint64), ("rank", c_uint16),
                    ("buffer", c_uint16))

PlanOp = _struct(
    "tern_plan_op", "plan.h", ("kind", c_int), ("flags", c_uint32), ("round", c_int),
    ("length", c_uint64), ("sources", ctypes.POINTER(PlanRange)), ("sources_count", c_int),
    ("destinations", ctypes.POINTER(PlanRange)), ("destinations_count", c_int), ("peer", c_int),
    ("signal", c_uint32), ("count", c_uint32))

STOP = ctypes.CFUNCTYPE(ctypes.c_bool, c_void_p)

Search = _struct(
    "tern_search", "algo.h", ("seconds", c_double), ("seed", c_uint64), ("stop", STOP),
    ("progress", c_void_p), ("context", c_void_p))

AlgoRequest = _struct(
    "tern_algo_request", "algo.h", ("kind", c_int), ("topo", c_void_p), ("bytes", c_uint64),
    ("unit", c_uint32), ("root", c_int), ("order", c_int), ("algorithm", c_char_p),
    ("search", c_void_p))

Resource = _struct("tern_topo_resource", "topo.h", ("name", c_char * 40), ("GBps", c_double))

SummaryPort = _struct(
    "tern_summary_port", "summary.h", ("machine", c_char * 32), ("ranks", c_int),
    ("out_bytes", c_uint64), ("in_bytes", c_uint64), ("us", c_double))

SummaryResource = _struct(
    "tern_summary_resource", "summary.h", ("name", c_char * 40), ("bytes", c_uint64),
    ("us", c_double))

SIM_FAILS_MAX = 64  # TERN_SIM_FAILS_MAX
SIM_NAME_BYTES = 64  # TERN_SIM_NAME_BYTES

ProgramRequest = _struct(
    "tern_program_request", "program.h", ("kind", c_int), ("nranks", c_int), ("bytes", c_uint64),
    ("unit", c_uint32), ("algorithm", c_char_p), ("group", c_int), ("piece_bytes", c_uint64))

SimOptions = _struct(
    "tern_sim_options", "sim.h", ("memory_GBps", c_double), ("machine_memory_GBps", c_double),
    ("copy_GBps", c_double), ("reduce_GBps", c_double * 4), ("op_us", c_double),
    ("processors", c_int), ("fresh_GBps", c_double), ("begin_us", c_double), ("meet_us", c_double),
    ("post_us", c_double), ("wake_us", c_double), ("jitter", c_double), ("seed", c_uint64),
    ("fails", c_char_p * SIM_FAILS_MAX), ("fails_count", c_int), ("without_path", c_bool), ("without_bound", c_bool),
    ("see", c_void_p), ("see_arg", c_void_p), ("trace", c_char_p), ("trace_events", c_size_t))

SimFacts = _struct(
    "tern_sim_facts", "sim.h", ("time_us", c_double), ("algbw_GBps", c_double),
    ("busbw_GBps", c_double), ("bound_us", c_double), ("bound_text", c_char * NAME_BYTES_MAX),
    ("ops", c_uint64), ("flows", c_uint64), ("events", c_uint64), ("wall_s", c_double),
    ("traced_us", c_double), ("traced", c_uint64))

SimUse = _struct(
    "tern_sim_use", "sim.h", ("name", c_char * SIM_NAME_BYTES), ("from", c_int), ("to", c_int),
    ("GBps", c_double), ("bytes", c_uint64), ("least_us", c_double), ("busy_us", c_double),
    ("first_us", c_double), ("last_us", c_double))

SimLoss = _struct(
    "tern_sim_loss", "sim.h", ("bound_us", c_double), ("load_us", c_double),
    ("before_us", c_double), ("slow_us", c_double), ("idle_us", c_double), ("after_us", c_double))

SimStep = _struct(
    "tern_sim_step", "sim.h", ("kind", c_int), ("rank", c_int), ("lane", c_int),
    ("index", c_uint64), ("begin_us", c_double), ("end_us", c_double), ("start_us", c_double),
    ("what", c_char * SIM_NAME_BYTES))

SimPart = _struct("tern_sim_part", "sim.h", ("what", c_char * SIM_NAME_BYTES), ("us", c_double),
                  ("steps", c_size_t))

CertificateProof = _struct(
    "tern_certificate_proof", "certificate.h", ("kind", c_int), ("root", c_int),
    ("scope", c_int), ("us_per_byte", c_double), ("us_per_byte_all", c_double),
    ("text", c_char * 256))

Summary = _struct(
    "tern_summary", "summary.h", ("spec", PlanSpec), ("rounds", c_int), ("ops", c_size_t),
    ("copies", c_size_t), ("reduces", c_size_t), ("posts", c_size_t), ("waits", c_size_t),
    ("missing", c_size_t), ("scratch_bytes", c_uint64), ("links", c_int),
    ("link_bytes", c_uint64), ("busiest_bytes", c_uint64), ("busiest_from", c_int),
    ("busiest_to", c_int), ("mean_bytes", c_double), ("busiest_us", c_double),
    ("estimate_us", c_double), ("bound_us", c_double), ("reached", c_double),
    ("bound_text", c_char * NAME_BYTES_MAX), ("machines", c_int), ("ports", SummaryPort * 16),
    ("busiest_port", SummaryPort), ("resources", c_int), ("busiest_resource", SummaryResource))


class CheckPlace(ctypes.Structure):
    """An op of tern_check_detail, which has no name of its own."""

    _fields_ = [("rank", c_int), ("lane", c_int), ("index", c_size_t)]


CheckDetail = _struct("tern_check_detail", "check.h", ("cause", c_int), ("ops_count", c_int),
                      ("ops", CheckPlace * 2))

ExecOptions = _struct(
    "tern_exec_options", "exec.h", ("in", c_void_p), ("in_offset", c_size_t), ("out", c_void_p),
    ("out_offset", c_size_t), ("dtype", c_int), ("op", c_int), ("flags", c_uint32))

ChipOptions = _struct("tern_chip_options", "graph.h", ("aic_count", c_int), ("aiv_count", c_int),
                      ("timeout_ns", c_int64))

Predicate = _struct("tern_predicate", "graph.h", ("address", c_void_p), ("dtype", c_int),
                    ("cmp", c_int), ("value", c_double))

Notice = _struct("tern_notice", "graph.h", ("window", c_void_p), ("rank", c_int),
                 ("offset_bytes", c_size_t))

Task = _struct(
    "tern_task", "graph.h", ("name", c_char_p), ("kernel", c_void_p), ("kernel_name", c_char_p),
    ("core", c_int), ("args", ctypes.POINTER(c_int64)), ("args_count", c_int),
    ("mix", c_void_p * 3), ("mix_names", c_char_p * 3), ("blocks", c_int),
    ("sync_start", c_bool), ("predicate", ctypes.POINTER(Predicate)),
    ("notices", ctypes.POINTER(Notice)), ("notices_count", c_int))

OrchestrateOptions = _struct("tern_orchestrate_options", "graph.h", ("build_first", c_bool))

Region = _struct(
    "tern_region", "region.h", ("address", c_uint64), ("buffer_bytes", c_uint64),
    ("owner", c_uint64), ("start", c_uint64), ("version", c_int32), ("ndims", c_uint32),
    ("dtype", c_uint8), ("all_offsets_zero", c_uint8), ("whole", c_uint8),
    ("no_dependences", c_uint8), ("shape", c_uint32 * REGION_DIMS_MAX),
    ("raw_shape", c_uint32 * REGION_DIMS_MAX), ("offset", c_uint32 * REGION_DIMS_MAX),
    ("stride", c_uint32 * REGION_DIMS_MAX), ("unused", c_uint32))

RingOptions = _struct(
    "tern_ring_options", "submit.h", ("window", c_uint32 * RINGS), ("heap", c_uint64 * RINGS),
    ("edges", c_uint32 * RINGS), ("regions", c_uint32 * RINGS), ("flags", c_uint32))

RingMarks = _struct(
    "tern_ring_marks", "submit.h", ("window", c_uint32 * RINGS), ("edges", c_uint32 * RINGS),
    ("regions", c_uint32 * RINGS), ("heap", c_uint64 * RINGS), ("tasks", c_uint64))

TaskArg = _struct("tern_task_arg", "submit.h", ("access", c_int),
                  ("region", ctypes.POINTER(Region)), ("scalar", c_uint64), ("filled", c_bool),
                  ("fill", c_uint64))

Submission = _struct(
    "tern_submission", "submit.h", ("task", Task), ("args", ctypes.POINTER(TaskArg)),
    ("args_count", c_int), ("after", ctypes.POINTER(c_uint64)), ("after_count", c_int),
    ("waits", c_void_p), ("waits_count", c_int))

NodeOptions = _struct(
    "tern_node_options", "node.h", ("window", c_uint32), ("heap_bytes", c_uint64),
    ("memory_bytes", c_uint64), ("host_threads", c_int), ("timeout_ns", c_int64))

NodeFunction = _struct("tern_node_function", "node.h", ("name", c_char_p), ("kernel", c_void_p),
                       ("orchestration", c_void_p), ("graph", c_void_p))

ServeOptions = _struct(
    "tern_serve_options", "node.h", ("functions", ctypes.POINTER(NodeFunction)),
    ("functions_count", c_int), ("aic_count", c_int), ("aiv_count", c_int))

NodeArgs = _struct("tern_node_args", "node.h", ("args_count", c_int), ("domains_count", c_int),
                   ("is_region", c_uint64))

NodeTask = _struct(
    "tern_node_task", "node.h", ("name", c_char_p), ("function", c_char_p),
    ("orchestrates", c_bool), ("chips", ctypes.POINTER(c_int)), ("chips_count", c_int),
    ("args", ctypes.POINTER(TaskArg)), ("args_count", c_int),
    ("domains", ctypes.POINTER(c_void_p)), ("domains_count", c_int),
    ("after", ctypes.POINTER(c_uint64)), ("after_count", c_int), ("waits", c_void_p),
    ("waits_count", c_int))
