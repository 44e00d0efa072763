"""Writes subgraphs/*.onnx: control flow by fed values, sequences, optionals and strings that are fed, and what must be
refused."""
from pathlib import Path

from onnx import TensorProto, checker, helper, save

HERE = Path(__file__).resolve().parents[1] / "data" / "subgraphs"
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
info = helper.make_tensor_value_info


def write(name, nodes, inputs, outputs, initializers=(), opset=16):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    if opset <= 17:  # as far as this onnx knows
        checker.check_model(model)
    save(model, str(HERE / f"{name}.onnx"))


def branch(name, op):
    return helper.make_graph([helper.make_node(op, ["x", "w"], [f"{name}_y"])], name, [],
                             [info(f"{name}_y", FLOAT, ["N", 3])])


def main():
    HERE.mkdir(exist_ok=True)
    weight = helper.make_tensor("w", FLOAT, [3], [2, 3, 4])
    x, y = info("x", FLOAT, ["N", 3]), info("y", FLOAT, ["N", 3])
    # y = x + w where the fed condition holds, else x · w
    choose = helper.make_node("If", ["condition"], ["y"], name="choose", then_branch=branch("sum", "Add"),
                              else_branch=branch("product", "Mul"))
    write("fed_if", [choose], [x, info("condition", BOOL, [])], [y], [weight])
    # x doubles while its sum is below the fed limit; `sums` are those after each time
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "v"], ["v_next"]), helper.make_node("ReduceSum", ["v_next"], ["sum"],
            keepdims=0),
         helper.make_node("Less", ["sum", "limit"], ["again"])],
        "body", [info("i", INT, []), info("go", BOOL, []), info("v", FLOAT, ["N", 3])],
        [info("again", BOOL, []), info("v_next", FLOAT, ["N", 3]), info("sum", FLOAT, [])])
    nodes = [helper.make_node("ReduceSum", ["x"], ["first"], keepdims=0),
             helper.make_node("Less", ["first", "limit"], ["start"]),
             helper.make_node("Loop", ["", "start", "x"], ["y", "sums"], name="double", body=body)]
    write("fed_while", nodes, [x, info("limit", FLOAT, [])], [y, info("sums", FLOAT, ["T"])])
    # xs without the item at a fed place, which comes last; their rows below each other; and the bias, or 0, added to
    # these
    floats = helper.make_tensor_type_proto(FLOAT, ["N", 2])
    xs = helper.make_value_info("xs", helper.make_sequence_type_proto(floats))
    any_floats = helper.make_tensor_type_proto(FLOAT, None)
    turned = helper.make_value_info("turned", helper.make_sequence_type_proto(any_floats))
    bias = helper.make_value_info("bias", helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [2])))
    there = helper.make_graph([helper.make_node("OptionalGetElement", ["bias"], ["b"])], "there", [],
                              [info("b", FLOAT, [2])])
    none = helper.make_graph([helper.make_node("Identity", ["zero"], ["no_b"])], "none", [], [info("no_b", FLOAT, [1])])
    nodes = [helper.make_node("SequenceAt", ["xs", "at"], ["picked"], name="pick"),
             helper.make_node("SequenceErase", ["xs", "at"], ["rest"]),
             helper.make_node("SequenceInsert", ["rest", "picked"], ["turned"]),
             helper.make_node("ConcatFromSequence", ["turned"], ["joined"], axis=0),
             helper.make_node("OptionalHasElement", ["bias"], ["has"]),
             helper.make_node("If", ["has"], ["added"], then_branch=there, else_branch=none),
             helper.make_node("Add", ["joined", "added"], ["y"])]
    write("list", nodes, [xs, info("at", INT, []), bias], [turned, info("y", FLOAT, ["M", 2])],
          [helper.make_tensor("zero", FLOAT, [1], [0])])
    # Which of the texts are a word, the others in capitals without the stop words, and numbers as text.
    text = TensorProto.STRING
    nodes = [helper.make_node("Equal", ["x", "word"], ["found"]),
             helper.make_node("StringNormalizer", ["x"], ["upper"], case_change_action="UPPER", stopwords=["the", "a"]),
             helper.make_node("Cast", ["n"], ["digits"], to=text),
             helper.make_node("Concat", ["upper", "digits"], ["y"], axis=0)]
    write("text", nodes, [info("x", text, ["N"]), info("n", FLOAT, ["K"])],
          [info("found", BOOL, ["N"]), info("y", text, ["M"])],
          [helper.make_tensor("word", text, [1], [b"the"])], opset=19)
    # y[i] = x + i · w for i below the fed n, collected in a sequence as long as a computed condition holds
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "w"], ["v_next"]), helper.make_node("SequenceInsert", ["list", "v"],
            ["list_next"]),
         helper.make_node("Add", ["i", "one"], ["next"]), helper.make_node("Less", ["next", "n"], ["again"])],
        "body", [info("i", INT, []), info("go", BOOL, []), info("v", FLOAT, ["N", 3]),
                 helper.make_tensor_sequence_value_info("list", FLOAT, ["N", 3])],
        [info("again", BOOL, []), info("v_next", FLOAT, ["N", 3]),
         helper.make_tensor_sequence_value_info("list_next", FLOAT, ["N", 3])])
    nodes = [helper.make_node("SequenceEmpty", [], ["none"]),
             helper.make_node("Loop", ["", "yes", "x", "none"], ["last", "all"], name="collect", body=body),
             helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1)]
    write("fed_list", nodes, [x, info("n", INT, [])], [info("y", FLOAT, ["T", "N", 3])],
          [weight, helper.make_tensor("one", INT, [], [1]), helper.make_tensor("yes", BOOL, [], [1])])
    # The numbers below the fed n as text
    body = helper.make_graph(
        [helper.make_node("Cast", ["i"], ["digits"], to=TensorProto.STRING),
         helper.make_node("SequenceInsert", ["list", "digits"], ["list_next"]),
         helper.make_node("Add", ["i", "one"], ["next"]), helper.make_node("Less", ["next", "n"], ["again"])],
        "body",
        [info("i", INT, []), info("go", BOOL, []),
         helper.make_tensor_sequence_value_info("list", TensorProto.STRING, [])],
        [info("again", BOOL, []), helper.make_tensor_sequence_value_info("list_next", TensorProto.STRING, [])])
    nodes = [helper.make_node("SequenceEmpty", [], ["none"], dtype=TensorProto.STRING),
             helper.make_node("Loop", ["", "yes", "none"], ["all"], name="tell", body=body),
             helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1)]
    write("fed_texts", nodes, [info("n", INT, [])], [info("y", TensorProto.STRING, ["T"])],
          [helper.make_tensor("one", INT, [], [1]), helper.make_tensor("yes", BOOL, [], [1])])
    # x + n · w, where n is fed, or is a billion
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "w"], ["v_next"]), helper.make_node("Identity", ["go"], ["again"])], "body",
        [info("i", INT, []), info("go", BOOL, []), info("v", FLOAT, ["N", 3])],
        [info("again", BOOL, []), info("v_next", FLOAT, ["N", 3])])
    many = helper.make_node("Loop", ["n", "", "x"], ["y"], name="many", body=body)
    write("fed_trips", [many], [x, info("n", INT, [])], [y], [weight])
    write("billion", [many], [x], [y], [weight, helper.make_tensor("n", INT, [], [10**9])])
    # x + 3 · w: 7 / 2 rounded up are the most, and each time it is computed whether there is another one
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "w"], ["v_next"]), helper.make_node("Add", ["i", "one"], ["next"]),
         helper.make_node("Mul", ["next", "next"], ["square"]),
         helper.make_node("Less", ["square", "nine"], ["again"])],
        "body", [info("i", INT, []), info("go", BOOL, []), info("v", FLOAT, ["N", 3])],
        [info("again", BOOL, []), info("v_next", FLOAT, ["N", 3])])
    nodes = [helper.make_node("Div", ["seven", "two"], ["half"]), helper.make_node("Ceil", ["half"], ["up"]),
             helper.make_node("Cast", ["up"], ["n"], to=INT),
             helper.make_node("Greater", ["n", "one"], ["start"]),
             helper.make_node("Loop", ["n", "start", "x"], ["y"], name="computed", body=body)]
    write("computed", nodes, [x], [y], [weight, helper.make_tensor("seven", FLOAT, [], [7]),
                                        helper.make_tensor("two", FLOAT, [], [2]),
                                        helper.make_tensor("one", INT, [], [1]),
                                        helper.make_tensor("nine", INT, [], [9])])
    # No trip count, no condition.
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "w"], ["v_next"]), helper.make_node("Identity", ["go"], ["again"])], "body",
        [info("i", INT, []), info("go", BOOL, []), info("v", FLOAT, ["N", 3])],
        [info("again", BOOL, []), info("v_next", FLOAT, ["N", 3])])
    write("endless", [helper.make_node("Loop", ["", "", "x"], ["y"], name="forever", body=body)], [x], [y], [weight])
    # A branch within a branch that reads what is outside of both.
    nested = helper.make_node("If", ["inner"], ["chosen"], name="nested", then_branch=branch("sum", "Add"),
                              else_branch=branch("product", "Mul"))
    outer = helper.make_graph([nested, helper.make_node("Mul", ["chosen", "factor"], ["scaled"])], "outer", [],
                              [info("scaled", FLOAT, ["N", 3])],
                              [helper.make_tensor("factor", FLOAT, [3], [1, 10, 100])])
    plain = helper.make_graph([helper.make_node("Identity", ["x"], ["same"])], "plain", [],
                              [info("same", FLOAT, ["N", 3])])
    write("nested", [helper.make_node("If", ["outer"], ["y"], name="first", then_branch=outer, else_branch=plain)],
          [x, info("outer", BOOL, []), info("inner", BOOL, [])], [y], [weight])


if __name__ == "__main__":
    main()
