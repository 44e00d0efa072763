"""Golden networks whose ONNX files are put together by hand, as PyTorch exports no such operators; the parameters are
the network's."""
from onnx import TensorProto, checker, helper, numpy_helper

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
info, node = helper.make_tensor_value_info, helper.make_node


def scanned(net):
    """Scanned: a Scan backwards over axis 1, what it makes stacked along axis 1 in order, then a Loop which collects as
    well."""
    step = helper.make_graph(
        [node("Gemm", ["x_t", "enter.weight", "enter.bias"], ["entered"], transB=1),
         node("Gemm", ["h", "cell.weight", "cell.bias"], ["kept"], transB=1),
         node("Add", ["entered", "kept"], ["sum"]), node("Tanh", ["sum"], ["h_next"]),
         node("Mul", ["h_next", "kept"], ["made"])],
        "step", [info("h", FLOAT, ["N", 6]), info("x_t", FLOAT, ["N", 4])],
        [info("h_next", FLOAT, ["N", 6]), info("made", FLOAT, ["N", 6])])
    again = helper.make_graph(
        [node("Gemm", ["v", "again.weight", "again.bias"], ["a"], transB=1), node("Sigmoid", ["a"], ["s"]),
         node("Mul", ["s", "h_last"], ["v_next"]),
         node("Identity", ["go"], ["go_on"])],
        "again", [info("i", INT, []), info("go", BOOL, []), info("v", FLOAT, ["N", 6])],
        [info("go_on", BOOL, []), info("v_next", FLOAT, ["N", 6]), info("s", FLOAT, ["N", 6])])
    first = numpy_helper.from_array
    nodes = [
        node("Gather", ["input", "zero"], ["x_0"], axis=1), node("Gemm", ["x_0", "enter.weight", "enter.bias"],
                                                                 ["h_0"], transB=1),
        node("Scan", ["h_0", "input"], ["h_last", "ys"], name="scan", body=step, num_scan_inputs=1,
             scan_input_axes=[1], scan_input_directions=[1],
             scan_output_axes=[-2], scan_output_directions=[1]),
        node("Mul", ["ys", "weights"], ["weighted"]), node("ReduceSum", ["weighted", "one"], ["over_time"], keepdims=0),
        node("Loop", ["three", "", "over_time"], ["v", "gates"], name="loop", body=again),
        node("ReduceMean", ["gates"], ["gate"], axes=[0], keepdims=0), node("Concat", ["v", "gate"], ["both"], axis=1),
        node("Gemm", ["both", "leave.weight", "leave.bias"], ["logits"], transB=1)]
    parameters = [first(value.detach().numpy(), name) for name, value in net.named_parameters()]
    numbers = [helper.make_tensor("zero", INT, [], [0]), helper.make_tensor("one", INT, [1], [1]),
               helper.make_tensor("three", INT, [], [3])]
    graph = helper.make_graph(nodes, "scanned", [info("input", FLOAT, ["N", 5, 4])], [info("logits", FLOAT, ["N", 4])],
                              parameters + numbers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    checker.check_model(model)
    return model
