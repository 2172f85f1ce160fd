# SPDX-License-Identifier: MIT
"""Each rewrite on a small model. Every one is also computed from the written folder, and compared."""
import numpy as np

from support import Case, Net, positive, weights

F = np.float32
LONG = np.int64


class Weights(Case):
    def test_batch_norm_and_a_line_by_channel_go_into_the_weights(self):
        n = Net(x=(1, 4, 9, 9))
        n.Conv(["x", weights(6, 4, 3, 3), weights(6)], "a", strides=[2, 2], pads=[1, 0, 1, 0])
        n.BatchNormalization(["a", positive(6), weights(6), weights(6), positive(6)], "b")
        n.Mul(["b", weights(6, 1, 1)], "c")
        n.Add(["c", weights(1, 6, 1, 1)], "d")
        n.Relu(["d"], "y")
        self.check(n.model("y"), "conv2d k=6 stride=2 pad_t=1 pad_l=0 bias act=relu")

    def test_transposed_and_grouped_weights(self):
        n = Net(x=(1, 6, 5, 4))
        n.ConvTranspose(["x", weights(6, 2, 3, 2), weights(4)], "a", group=2, strides=[2, 3], output_padding=[1, 0])
        n.BatchNormalization(["a", positive(4), weights(4), weights(4), positive(4)], "b")
        n.Sigmoid(["b"], "y")
        self.check(n.model("y"), "conv_transpose c=6 k=4 groups=2 stride_h=2 stride_w=3 out_pad_h=1 bias act=sigmoid")

    def test_transposed_with_same_pads(self):
        n = Net(x=(1, 2, 5, 4))
        n.ConvTranspose(["x", weights(2, 3, 3, 3)], "y", strides=[2, 2], auto_pad="SAME_UPPER")
        self.check(n.model("y"), "conv_transpose c=2 k=3 stride=2")

    def test_scalar_behind_the_activation(self):
        n = Net(x=(1, 3, 6, 6))
        n.Conv(["x", weights(4, 3, 1, 1)], "a")
        n.Sigmoid(["a"], "b")
        n.Mul(["b", F(3)], "c")
        n.Sub(["c", F(0.5)], "y")
        self.check(n.model("y"), "conv2d act=sigmoid act_scale=3 act_shift=-0.5")

    def test_gemm_with_factors_and_a_matrix_as_c(self):
        n = Net(x=(5, 7))
        n.Gemm(["x", weights(7, 3), weights(3)], "a", alpha=0.5, beta=2.0)
        n.Tanh(["a"], "b")
        n.Gemm(["b", weights(4, 3), weights(5, 4)], "y", transB=1)
        self.check(n.model("y"), "dense m=5 n=3 k=7 trans_w=0 bias act=tanh", "dense m=5 n=4 k=3 residual")

    def test_scale_shift_alone(self):
        n = Net(x=(1, 5, 4, 3))
        n.BatchNormalization(["x", positive(5), weights(5), weights(5), positive(5)], "a")
        n.Relu(["a"], "b")
        n.Mul(["b", F(2)], "y")
        self.check(n.model("y"), "scale_shift shape=1x5x4x3 axis=1 act=relu")

    def test_one_dimensional_maps(self):
        n = Net(x=(2, 3, 16))
        n.Conv(["x", weights(4, 3, 5)], "a", pads=[2, 2], strides=[2])
        n.MaxPool(["a"], "y", kernel_shape=[2], strides=[2])
        self.check(n.model("y"), "conv2d n=2 h=1 w=16 r=1 s=5 pad_l=2 stride_w=2", "pool2d mode=max r=1 s=2")


class Functions(Case):
    def same(self, build, line: str) -> None:
        n = Net(x=(1, 3, 6, 6))
        n.Conv(["x", 4 * weights(4, 3, 1, 1)], "a")
        build(n)
        self.check(n.model("y"), line)

    def test_hard_swish_in_its_orders(self):
        def one(n):
            n.Add(["a", F(3)], "b"), n.Clip(["b", F(0), F(6)], "c"), n.Mul(["a", "c"], "d"), n.Div(["d", F(6)], "y")

        def two(n):
            n.Add([F(3), "a"], "b"), n.Clip(["b", F(0), F(6)], "c"), n.Div(["c", F(6)], "d"), n.Mul(["d", "a"], "y")

        def three(n):
            n.HardSigmoid(["a"], "b", alpha=1 / 6, beta=0.5), n.Mul(["a", "b"], "y")

        def four(n):
            n.Mul(["a", F(1 / 6)], "s"), n.Add(["a", F(3)], "b"), n.Relu(["b"], "c"), n.Min(["c", F(6)], "d")
            n.Mul(["s", "d"], "y")
        for build in (one, two, three, four):
            self.folder += "x"
            self.same(build, "conv2d act=hard_swish")

    def test_silu_and_mish(self):
        self.same(lambda n: (n.Sigmoid(["a"], "b"), n.Mul(["b", "a"], "y")), "conv2d act=silu")
        n = Net(x=(3, 4))
        n.Softplus(["x"], "a"), n.Tanh(["a"], "b"), n.Mul(["x", "b"], "y")
        self.folder += "x"
        self.check(n.model("y"), "unary op=mish")

    def test_gelu_by_erf_and_by_tanh(self):
        def erf(n):
            n.Div(["a", F(2**0.5)], "b"), n.Erf(["b"], "c"), n.Add(["c", F(1)], "d"), n.Mul(["a", "d"], "e")
            n.Mul(["e", F(0.5)], "y")

        def tanh(n):
            n.Pow(["a", F(3)], "b"), n.Mul(["b", F(0.044715)], "c"), n.Add(["a", "c"], "d")
            n.Mul(["d", F((2 / np.pi) ** 0.5)], "e"), n.Tanh(["e"], "f"), n.Add(["f", F(1)], "g")
            n.Mul(["a", F(0.5)], "h"), n.Mul(["h", "g"], "y")
        self.same(erf, "conv2d act=gelu")
        self.folder += "x"
        self.same(tanh, "conv2d act=gelu_tanh")

    def test_a_function_that_is_nearly_silu_is_none(self):
        n = Net(x=(3, 4))
        n.Mul(["x", F(1.01)], "a"), n.Sigmoid(["a"], "b"), n.Mul(["b", "x"], "y")
        self.check(n.model("y"), "unary op=sigmoid scale=1.01", "binary op=mul")

    def test_bounds_and_slopes(self):
        n = Net(x=(1, 3, 6, 6))
        n.Conv(["x", weights(4, 3, 1, 1)], "a"), n.Clip(["a", F(0), F(6)], "b")
        n.Conv(["b", weights(4, 4, 1, 1)], "c"), n.Clip(["c", F(-0.1), F(0.2)], "d")
        n.Conv(["d", weights(4, 4, 1, 1)], "e"), n.LeakyRelu(["e"], "f", alpha=0.2)
        n.PRelu(["f", F([0.3])], "g"), n.HardSigmoid(["g"], "y")
        self.check(n.model("y"), "conv2d act=relu6", "conv2d act=clip act_alpha=-0.1 act_beta=0.2",
                   "conv2d act=leaky_relu act_alpha=0.2", "unary op=leaky_relu alpha=0.3",
                   "unary op=clip alpha=0 beta=1 scale=0.2 shift=0.5")

    def test_a_gate_with_the_input_added(self):
        n = Net(x=(1, 4, 6, 6))
        n.GlobalAveragePool(["x"], "p"), n.Conv(["p", weights(4, 4, 1, 1), weights(4)], "a")
        n.HardSigmoid(["a"], "g"), n.Mul(["x", "g"], "m"), n.Add(["x", "m"], "y")
        self.check(n.model("y"), "pool2d global", "conv2d act=clip act_alpha=1 act_beta=2", "binary op=mul")

    def test_a_gate_that_others_read_stays(self):
        n = Net(x=(1, 4, 6, 6))
        n.GlobalAveragePool(["x"], "p"), n.Conv(["p", weights(4, 4, 1, 1), weights(4)], "a")
        n.Sigmoid(["a"], "g"), n.Mul(["x", "g"], "m"), n.Add(["x", "m"], "y")
        self.check(n.model("y", "g"), "pool2d global", "conv2d act=sigmoid", "binary op=mul", "binary op=add")


class Sums(Case):
    def test_residual_then_relu(self):
        n = Net(x=(1, 4, 6, 6))
        n.Conv(["x", weights(4, 4, 3, 3)], "a", pads=[1, 1, 1, 1]), n.Relu(["a"], "b")
        n.Conv(["b", weights(4, 4, 3, 3)], "c", pads=[1, 1, 1, 1]), n.Sum(["x", "c"], "d"), n.Relu(["d"], "y")
        self.check(n.model("y"), "conv2d act=relu", "conv2d residual", "unary op=relu")

    def test_an_activated_value_is_added(self):
        n = Net(x=(1, 4, 6, 6))
        n.Conv(["x", weights(4, 4, 1, 1)], "a"), n.Relu(["a"], "b"), n.Add(["b", "x"], "y")
        self.check(n.model("y"), "conv2d act=relu residual")

    def test_what_others_read_is_not_added_in_place(self):
        n = Net(x=(1, 4, 6, 6))
        n.Conv(["x", weights(4, 4, 1, 1)], "a"), n.Add(["a", "x"], "b"), n.Mul(["a", "b"], "y")
        self.check(n.model("y"), "conv2d", "binary op=add", "binary op=mul")

    def test_sums_of_many(self):
        n = Net(x=(2, 3), z=(2, 3), u=(3,))
        n.Sum(["x", "z", "u"], "a"), n.Max(["a", "x", "z"], "b"), n.Mean(["a", "b", "x"], "y")
        self.check(n.model("y"), *["binary op=add"] * 4, *["binary op=max"] * 2, "scale_shift axis=0")

    def test_the_largest_of_a_tensor_and_two_numbers(self):
        n = Net(x=(1, 2, 3, 4))
        n.Max(["x", F(-0.25), F(-0.5)], "a"), n.Min(["a", F(0.5), F(0.25)], "y")
        self.check(n.model("y"), *["binary op=max"] * 2, *["binary op=min"] * 2)

    def test_resize_and_add(self):
        n = Net(x=(1, 3, 4, 5), z=(1, 3, 8, 15))
        n.Resize(["x", "", F([1, 1, 2, 3])], "a", mode="nearest", coordinate_transformation_mode="asymmetric",
                 nearest_mode="floor")
        n.Add(["z", "a"], "y")
        self.check(n.model("y"), "resize h=4 w=5 oh=8 ow=15 mode=nearest coord=asymmetric nearest=floor residual")

    def test_resize_by_a_scale_that_is_not_whole(self):
        n = Net(x=(1, 2, 5, 7))
        n.Resize(["x", "", F([1, 1, 1.3, 0.7])], "a", mode="linear"), n.Relu(["a"], "y")
        self.check(n.model("y"), "resize mode=linear coord=half_pixel scale_h=1.3 scale_w=0.7", "unary op=relu")


class Transformers(Case):
    def encoder(self, mask=None) -> Net:
        """One layer as PyTorch exports it: q, k and v by products of their own, four heads."""
        n = Net(x=(2, 6, 16))
        for name in "qkv":
            n.MatMul(["x", weights(16, 16)], name + "0"), n.Add([name + "0", weights(16)], name + "1")
            n.Reshape([name + "1", LONG([2, 6, 4, 4])], name + "2")
        n.Transpose(["q2"], "q3", perm=[0, 2, 1, 3]), n.Transpose(["v2"], "v3", perm=[0, 2, 1, 3])
        n.Transpose(["k2"], "k3", perm=[0, 2, 3, 1])
        n.MatMul(["q3", "k3"], "s0"), n.Div(["s0", F(2)], "s1")
        if mask is not None:
            n.Add(["s1", mask], "s2")
        n.Softmax(["s2" if mask is not None else "s1"], "p", axis=-1), n.MatMul(["p", "v3"], "o")
        n.Transpose(["o"], "o1", perm=[0, 2, 1, 3]), n.Reshape(["o1", LONG([2, 6, 16])], "o2")
        n.MatMul(["o2", weights(16, 16)], "o3"), n.Add([weights(16), "o3"], "o4"), n.Add(["x", "o4"], "y")
        return n

    def test_attention(self):
        lines = ["dense bias"] * 3 + ["dense bias residual"]
        self.check(self.encoder().model("y"), *lines, "attention batch=2 heads=4 nq=6 nk=6 d=4 ldq=16 headq=4 ldk=16 ldo=16")

    def test_attention_with_masks(self):
        lines = ["dense bias"] * 3 + ["dense bias residual"]
        for mask, kind in ((weights(6, 6), "qk"), (weights(2, 1, 6, 6), "bqk"), (weights(2, 1, 1, 6), "bqk"),
                           (weights(4, 6, 6), "bhqk")):
            self.folder += "x"
            self.check(self.encoder(mask).model("y"), *lines, f"attention mask={kind}")

    def test_scores_that_others_read_stay_a_product(self):
        lines = ["dense bias"] * 3 + ["dense bias residual"]
        self.check(self.encoder().model("y", "p"), *lines, "batch_matmul batch=8 scale=0.5", "softmax", "batch_matmul",
                   *["transpose"] * 4)

    def test_one_projection_for_all_and_three_axes(self):
        n = Net(x=(6, 12))
        n.MatMul(["x", weights(12, 36)], "a"), n.Reshape(["a", LONG([6, 3, 3, 4])], "b")
        n.Transpose(["b"], "c", perm=[1, 2, 0, 3]), n.Split(["c", LONG([1, 1, 1])], ["q", "k", "v"], axis=0)
        for name in "qkv":
            n.Squeeze([name, LONG([0])], name + "s")
        n.Mul(["qs", F(0.3)], "q1"), n.Transpose(["ks"], "k1", perm=[0, 2, 1])
        n.MatMul(["q1", "k1"], "s"), n.Softmax(["s"], "p", axis=-1), n.MatMul(["p", "vs"], "o")
        n.Transpose(["o"], "t", perm=[1, 0, 2]), n.Reshape(["t", LONG([6, 12])], "y")
        self.check(n.model("y"), "dense", "attention heads=3 nq=6 nk=6 d=4 scale=0.3 ldq=36 headq=4 offk=12 offv=24 ldo=12")

    def test_layer_norm_written_out(self):
        n = Net(x=(2, 5, 8))
        n.ReduceMean(["x"], "m", axes=[-1]), n.Sub(["x", "m"], "d"), n.Pow(["d", F(2)], "q")
        n.ReduceMean(["q"], "v", axes=[2]), n.Add(["v", F(1e-6)], "e"), n.Sqrt(["e"], "r"), n.Div(["d", "r"], "u")
        n.Mul(["u", positive(8)], "g"), n.Add(["g", weights(8)], "y")
        self.check(n.model("y"), "layer_norm rows=10 n=8 eps=1e-06")

    def test_layer_norm_and_instance_norm(self):
        n = Net(opset=17, x=(1, 3, 4, 8))
        n.LayerNormalization(["x", positive(8), weights(8)], "a", axis=-1), n.Relu(["a"], "b")
        n.InstanceNormalization(["b", positive(3), weights(3)], "y")
        self.check(n.model("y"), "layer_norm rows=12 n=8 act=relu", "layer_norm rows=3 n=32", "scale_shift axis=1")

    def test_products_of_two_that_change(self):
        n = Net(x=(3, 2, 5, 4), z=(3, 2, 4, 6), u=(6, 5))
        n.MatMul(["x", "z"], "a"), n.Mul(["a", F(0.5)], "b"), n.MatMul(["b", "u"], "y")
        self.check(n.model("y"), "batch_matmul batch=6 m=5 n=6 k=4 scale=0.5", "batch_matmul m=30 n=5 k=6")


class Moves(Case):
    def test_reshapes_and_leading_slices_are_views(self):
        n = Net(x=(4, 3, 2))
        n.Relu(["x"], "a"), n.Slice(["a", LONG([1]), LONG([3]), LONG([0])], "b"), n.Reshape(["b", LONG([6, 2])], "c")
        n.Sigmoid(["c"], "y")
        w = self.check(n.model("y"), "unary op=relu", "unary op=sigmoid")
        self.assertEqual((w.entries["c"]["view_of"], w.entries["c"]["first"]), ("a", 6))

    def test_other_slices_are_copied(self):
        n = Net(x=(4, 5, 6))
        n.Slice(["x", LONG([4, 0]), LONG([-100, 6]), LONG([1, 2]), LONG([-2, 2])], "a")
        n.Split(["a"], ["b", "c", "d"], axis=2), n.Mul(["b", "d"], "y")
        self.check(n.model("y"), "slice shape=4x5x6 start=0,4,0 count=4x3x3 step=1,-2,2", *["slice"] * 2, "binary op=mul")

    def test_transposes(self):
        n = Net(x=(1, 6, 2, 2))
        n.Reshape(["x", LONG([1, 2, 3, 2, 2])], "a"), n.Transpose(["a"], "b", perm=[0, 2, 1, 3, 4])
        n.Reshape(["b", LONG([1, 6, 2, 2])], "c"), n.Transpose(["c"], "d", perm=[1, 0, 2, 3]), n.Relu(["d"], "y")
        w = self.check(n.model("y"), "transpose shape=2x3x4 perm=1-0-2", "unary op=relu")
        self.assertIn("view_of", w.entries["d"])

    def test_concatenations_in_place_and_nested(self):
        n = Net(x=(1, 2, 3, 3))
        n.Relu(["x"], "a"), n.Sigmoid(["x"], "b"), n.Concat(["a", "b"], "c", axis=1)
        n.Conv(["c", weights(2, 4, 1, 1)], "d"), n.Concat(["c", "d"], "e", axis=1), n.Tanh(["e"], "y")
        w = self.check(n.model("y"), "unary op=relu", "unary op=sigmoid", "conv2d", "unary op=tanh")
        self.assertEqual((w.entries["e"]["parts"], w.entries["c"]["parts"]), (["c", "d"], ["a", "b"]))

    def test_concatenations_that_need_a_copy(self):
        n = Net(x=(2, 2, 3), z=(2, 1, 3))
        n.Relu(["x"], "a"), n.Concat(["a", "z", "a", "x", "z"], "b", axis=1), n.Concat(["x", "x"], "c", axis=0)
        n.Tanh(["c"], "y")
        self.check(n.model("b", "y"), "unary op=relu", "concat axis=1 shape_d=2x2x3", "concat axis=1 shape_b=2x1x3",
                   "concat axis=0", "unary op=tanh")

    def test_parts_of_a_split_that_come_together_again(self):
        n = Net(x=(1, 3, 4, 4))
        n.Conv(["x", weights(4, 3, 1, 1)], "a"), n.Split(["a", LONG([2, 2])], ["b", "c"], axis=1)
        n.Conv(["c", weights(2, 2, 3, 3)], "d", pads=[1, 1, 1, 1]), n.Concat(["b", "c", "d"], "e", axis=1), n.Relu(["e"], "y")
        w = self.check(n.model("y"), "conv2d c=3", "conv2d c=2", "unary op=relu")
        self.assertEqual((w.entries["e"]["parts"], w.entries["c"]["first"]), (["a", "d"], 32))

    def test_a_part_lies_in_one_concatenation_only(self):
        n = Net(x=(1, 2, 3))
        n.Relu(["x"], "a"), n.Tanh(["x"], "b"), n.Concat(["a", "b"], "c", axis=1), n.Concat(["b", "a"], "y", axis=1)
        self.check(n.model("c", "y"), "unary op=relu", "unary op=tanh", "concat axis=1")

    def test_gather_pad_and_reduce(self):
        n = Net(x=(5, 4, 3))
        n.Gather(["x", LONG([[0, -1], [2, 2]])], "a", axis=0), n.Pad(["a", LONG([0, 0, 1, 0, 0, 0, 0, 2])], "b")
        n.ReduceMean(["b"], "c", axes=[1, 3], keepdims=0), n.Gather(["c", LONG(1)], "y", axis=1)
        self.check(n.model("y"), "gather shape=5x4x3 count=4", "pad before=0,0,1,0 after=0,0,0,2", "reduce op=mean axes=1-3",
                   "slice")

    def test_softmax_as_before_opset_13(self):
        n = Net(opset=9, x=(2, 3, 4))
        n.Softmax(["x"], "a", axis=1), n.Softmax(["x"], "b", axis=2), n.Add(["a", "b"], "y")
        self.check(n.model("y"), "softmax shape=2x12", "softmax shape=2x3x4", "binary op=add")
        n = Net(x=(2, 3, 4))
        n.LogSoftmax(["x"], "y", axis=1)
        self.folder += "x"
        self.check(n.model("y"), "softmax shape=2x3x4 axis=1 log=1")

    def test_poolings(self):
        n = Net(x=(1, 3, 7, 7))
        n.MaxPool(["x"], "a", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
        n.AveragePool(["x"], "b", kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 2], count_include_pad=1)
        n.ReduceMax(["a"], "c", axes=[2, 3]), n.ReduceMean(["b"], "d", axes=[-2, -1], keepdims=0)
        n.Squeeze(["c", LONG([2, 3])], "e"), n.Add(["e", "d"], "y")
        self.check(n.model("y"), "pool2d mode=max r=2 stride=2 ceil_mode=1", "pool2d r=3 s=2 count_include_pad=1",
                   "pool2d mode=max global", "pool2d global", "binary op=add")

    def test_shapes_are_folded(self):
        n = Net(x=(2, 3, 4))
        n.Shape(["x"], "s"), n.Gather(["s", LONG([0])], "b"), n.Concat(["b", LONG([-1])], "t", axis=0)
        n.Relu(["x"], "r"), n.Reshape(["r", "t"], "y")
        w = self.check(n.model("y"), "unary op=relu")
        self.assertEqual([o["became"] for o in w.json["model"]["nodes"]], ["constant"] * 3 + ["mapped", "view"])
