// SPDX-License-Identifier: MIT
// report_test.cpp - `clam report`: the page, as text and in a browser, the table, and what is
// refused.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "browser.hpp"
#include "pattern.hpp"
#include "process/shell_quoted.hpp"
#include "run_clam.hpp"
#include "svg_check.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

const std::string kSource = CLAM_SOURCE_DIR;

/// Results that nobody measured: g1 has two INVALID rows, peaks and predictions, g2 a skipped row.
std::string made_up(const std::string& board) {
  return kSource + "/tests/cli/results/made-up-" + board + ".json";
}

std::string page_of(std::vector<std::string> files) {
  const TemporaryFolder folder;
  files.insert(files.begin(), "report");
  files.insert(files.end(), {"-o", folder.file("report.html")});
  const Finished finished = run_clam(files);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.out, "");
  return read_file(folder.file("report.html"));
}

std::string page_of_results(const json& results) {
  const TemporaryFolder folder;
  write_file(folder.file("results.json"), results.dump());
  return page_of({folder.file("results.json")});
}

std::string markdown_of(std::vector<std::string> files) {
  files.insert(files.begin(), {"report", "--markdown"});
  const Finished finished = run_clam(files);
  EXPECT_EQ(finished.code, 0) << finished.err;
  return finished.out;
}

/// What stands in the script element of the data.
std::string data_text(const std::string& page) {
  const std::string start = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(start) + start.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

const char* const kHostile =
    "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>&amp;\"'";

json hostile_results() {
  json results = json::parse(read_file(made_up("g1")));
  json& own = results["clam"];
  own["device"]["name"] = kHostile;
  own["device"]["driver_version"] = std::string("<b>1</b>") + kHostile;
  json& wrong = own["rows"][4];
  EXPECT_EQ(wrong["validity"], "INVALID");
  wrong["reason"] = std::string("<i>it</i> ") + kHostile;
  wrong["marks"] = {kHostile};
  wrong["command"] = "clam-bench --problem " + shell_quoted(kHostile);
  own["peaks"]["refused"] = {std::string("f32 <b>fma</b> of 4: ") + kHostile};
  wrong["name"] = std::string("conv2d <!-- ") + kHostile;
  return results;
}

TEST(report, page_holds_all_rows_and_asks_for_nothing_outside) {
  const std::string page = page_of({made_up("g1"), made_up("g2")});
  const json data = json::parse(data_text(page));
  ASSERT_EQ(data.at("boards").size(), 2u);
  EXPECT_EQ(data.at("counts"), "2 rows INVALID, 10 OK, 1 skipped");
  EXPECT_EQ(data["boards"][0]["rows"].size(), 7u);
  EXPECT_EQ(data["boards"][1]["rows"].size(), 6u);
  const json& dense = data["boards"][0]["rows"][0];
  EXPECT_EQ(dense.at("us"), 320.0);
  EXPECT_EQ(dense.at("command"), "clam-bench --problem 'dense m=192 n=512 k=512 dtype=f32 bias'");
  EXPECT_EQ(dense.at("nodes").at(0), "lightglue-192: dense_3");
  EXPECT_FALSE(data["boards"][1]["rows"][0].contains("predicted_low")) << "absent is not zero";
  EXPECT_TRUE(contains(page, "default-src 'none'"));
  const char* outside = "(src|href|action)\\s*=\\s*[\"']?(https?:)?//|@import|url\\(";
  EXPECT_FALSE(has_pattern(page, outside));
  EXPECT_FALSE(has_pattern(page, ">\\{[a-z]+\\}<|\n\\{[a-z]+\\}\n")) << "a part was not filled in";
}

TEST(report, text_that_would_be_html_stays_text) {
  const std::string page = page_of_results(hostile_results());
  const std::string data = data_text(page);
  EXPECT_EQ(data.find_first_of("<>&"), data.npos);
  EXPECT_EQ(json::parse(data)["boards"][0]["name"], kHostile);
  const std::string plain = page_of({made_up("g1")});
  EXPECT_EQ(count_of(page, "</script"), count_of(plain, "</script"));
  EXPECT_EQ(count_of(page, "<img"), count_of(plain, "<img"));
  EXPECT_TRUE(contains(page, "<title>clam: &lt;/script&gt;&lt;script&gt;"));
}

TEST(report, boards_of_one_name_are_told_apart) {
  const json data = json::parse(data_text(page_of(std::vector<std::string>(3, made_up("g1")))));
  EXPECT_EQ(data["boards"][0]["label"], "Made-up-G1 MP4 (made-up-g1.json)");
  EXPECT_EQ(data["boards"][2]["label"], "Made-up-G1 MP4 (made-up-g1.json) 3");
}

TEST(report, what_is_no_results_file_is_refused_in_a_sentence) {
  const json good = json::parse(read_file(made_up("g1")));
  const auto changed = [&](const char* patch) { return good.patch(json::parse(patch)).dump(); };
  json older = good;
  older["clam"].erase("schema");
  json google = good;
  google.erase("clam");
  const std::pair<std::string, const char*> files[] = {
      {"", "is not JSON (byte 1)"},
      {"{\"clam\": {", "is not JSON (byte "},
      {"\xff\xfe", "is not JSON"},
      {"{\"a\": 1e999}", "out of range"},
      {"[]", "is JSON without clam's rows"},
      {"{\"clam\": 3}", "is JSON without clam's rows"},
      {google.dump(), "is a file of Google Benchmark without clam's rows"},
      {older.dump(), "has no schema number: an older clam-bench wrote it"},
      {changed(R"([{"op":"replace","path":"/clam/schema","value":2}])"),
       "is of schema '2', and this"},
      {changed(R"([{"op":"replace","path":"/clam/schema","value":"1"}])"), "is of schema"},
      {changed(R"([{"op":"replace","path":"/clam/rows","value":[]}])"), "has no rows"},
      {changed(R"([{"op":"replace","path":"/clam/rows","value":{}}])"), "clam.rows is not a list"},
      {changed(R"([{"op":"replace","path":"/clam/rows/2","value":7}])"),
       "rows[2] is not an object"},
      {changed(R"([{"op":"replace","path":"/clam/rows/1/us/median","value":"7"}])"),
       "clam.rows[1].us.median is not a number"},
      {changed(R"([{"op":"remove","path":"/clam/rows/1/op"}])"), "clam.rows[1] lacks \"op\""},
      {changed(R"([{"op":"replace","path":"/clam/rows/1/command","value":"clam\nrm -r ."}])"),
       "clam.rows[1].command is not one line of plain text: it has control characters"},
      {changed(R"([{"op":"replace","path":"/clam/rows/1/command","value":"\u001b[8mclam"}])"),
       "clam.rows[1].command is not one line of plain text"},
      {changed(R"([{"op":"remove","path":"/clam/device"}])"), "clam.device lacks \"name\""},
      {changed(R"([{"op":"replace","path":"/clam/peaks/rows/0/us","value":"1"}])"),
       "clam.peaks.rows[0].us is not a number"},
      {changed(R"([{"op":"add","path":"/clam/device/vendor","value":1}])"),
       "x.json: device: key \"vendor\" has the wrong type"},
      {changed(R"([{"op":"replace","path":"/clam/peaks","value":[1]}])"),
       "clam.peaks is not an object"}};
  const TemporaryFolder folder;
  const std::string file = folder.file("x.json"), page = folder.file("page.html");
  for (const auto& [text, words] : files) {
    SCOPED_TRACE(words);
    write_file(file, text);
    expect_refusal(run_clam({"report", made_up("g1"), file, "-o", page}), 2, words);
    expect_refusal(run_clam({"report", "--markdown", file}), 2, words);
    EXPECT_FALSE(std::filesystem::exists(page));
  }
  expect_refusal(run_clam({"report", folder.file("none.json"), "-o", page}), 2, "cannot read");
  expect_refusal(run_clam({"report", made_up("g1")}), 2, "Give -o report.html, or --markdown");
  expect_refusal(run_clam({"report", "-o", page}), 2, "report what?");
  expect_refusal(run_clam({"report", "-o", file, made_up("g1")}), 2,
                 "is the name of a results file");
  const std::string results = folder.file("results");
  write_file(results, good.dump());
  expect_refusal(run_clam({"report", "-o", results, made_up("g1"), results}), 2,
                 "is one of the files to report");
  EXPECT_EQ(read_file(results), good.dump());
  expect_refusal(run_clam({"report", made_up("g1"), "-o", folder.file("no/page.html")}), 2,
                 "there is no folder");
}

/// What a row of the results says repeats it.
std::string results_with_command(const std::string& command) {
  json results = json::parse(read_file(made_up("g1")));
  results["clam"]["rows"][1]["command"] = command;
  return results.dump();
}

TEST(report, a_command_that_does_more_than_measure_is_refused) {
  const TemporaryFolder folder;
  const std::string file = folder.file("x.json");
  const std::string good = "clam-bench --problem 'dense m=1 n=1 k=1 dtype=f32'";
  const std::vector<std::string> more = {"; rm -rf .",   " | sh",           " && sh x",
                                         " >x",          " --variant $(x)", " --variant `x`",
                                         " --device 'x", " --device",       " --json x"};
  std::vector<std::string> commands = {"sh x", "PATH=. " + good, "CLAM_KERNEL_DIR=$(x) " + good};
  for (const std::string& words : more) commands.push_back(good + words);
  for (const std::string& command : commands) {
    write_file(file, results_with_command(command));
    expect_refusal(run_clam({"report", "--markdown", file}), 2,
                   "clam.rows[1].command is not a command that has clam-bench measure a row");
  }
  for (const std::string& command :
       {good, good + " --variant dense_packed --device 'it'\\''s $HOME; `x`'",
        "CLAM_KERNEL_DIR='/a b' " + good}) {
    write_file(file, results_with_command(command));
    EXPECT_EQ(run_clam({"report", "--markdown", file}).code, 0) << command;
  }
}

TEST(report, rows_that_nobody_asked_for_say_so) {
  json results = json::parse(read_file(made_up("g1")));
  json& row = results["clam"]["rows"][0];
  row = {{"name", row["name"]}, {"problem", row["problem"]}, {"op", "dense"},
         {"dtype", "f32"},      {"command", row["command"]}, {"outcome", "not run"}};
  const json shown = json::parse(data_text(page_of_results(results)))["boards"][0]["rows"][0];
  EXPECT_EQ(shown.at("status"), "skipped");
  EXPECT_EQ(shown.at("reason"), "not asked for in this run");
}

TEST(report, peaks_that_could_not_be_measured_are_told) {
  json results = json::parse(read_file(made_up("g1")));
  results["clam"]["peaks"] = {
      {"refused", {"f32 fma of 4: an event says that it took 0 ns", "read"}}};
  const TemporaryFolder folder;
  write_file(folder.file("x.json"), results.dump());
  const std::string text = markdown_of({folder.file("x.json")});
  EXPECT_TRUE(contains(text, "- No peak could be measured.\n")) << text;
  EXPECT_TRUE(
      contains(text, "- no peak of f32 fma of 4: an event says that it took 0 ns (and 1 more)"))
      << text;
  const json board = json::parse(data_text(page_of_results(results)))["boards"][0];
  EXPECT_EQ(board.at("refused").size(), 2u);
}

TEST(report, a_row_is_ok_only_when_every_word_says_so) {
  json results = json::parse(read_file(made_up("g1")));
  json& rows = results["clam"]["rows"];
  rows[0].erase("validity");
  rows[1]["validity"] = "DOUBTFUL";
  rows[2]["outcome"] = "device error";
  rows[3]["outcome"] = "not run";
  const json shown = json::parse(data_text(page_of_results(results)))["boards"][0]["rows"];
  const char* const wanted[] = {"INVALID", "INVALID", "INVALID", "skipped",
                                "INVALID", "OK",      "INVALID"};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(shown[i]["status"], wanted[i]) << i;
}

/// The results of g1 as if a Mali-G610 had given them, without predictions.
json results_of_a_mali() {
  json results = json::parse(read_file(made_up("g1")));
  results["clam"]["device"]["name"] = "Mali-G610 (Panfrost)";
  for (json& row : results["clam"]["rows"]) row.erase("predicted_us");
  return results;
}

json predictions_for(const char* gpu, const char* variant) {
  const json problem = {{"problem", "softmax shape=1x4x192x192 dtype=f32"},
                        {"variant", variant},
                        {"predicted_us", {31.5, 42.5}}};
  const json left_out = {{"problem", "pool2d"}, {"reason", "no listing"}};
  return {{"clam_mali", 1}, {"gpus", {{{"gpu", gpu}, {"problems", {left_out, problem}}}}}};
}

TEST(report, predictions_go_to_rows_of_their_gpu_problem_and_variant) {
  const TemporaryFolder folder;
  const std::string results = folder.file("results.json"), mali = folder.file("mali.json");
  write_file(results, results_of_a_mali().dump());
  write_file(mali, predictions_for("g610", "softmax_row").dump());
  const std::string table = markdown_of({results, "--predicted", mali});
  EXPECT_EQ(count_of(table, "31.5 to 42.5"), 1) << table;
  const json data = json::parse(data_text(page_of({results, made_up("g2"), "--predicted", mali})));
  for (const json& row : data["boards"][0]["rows"]) {
    const bool it = row["name"] == "softmax shape=1x4x192x192 dtype=f32";
    EXPECT_EQ(row.value("predicted_low", 0.0), it ? 31.5 : 0.0) << row;
  }
  EXPECT_EQ(data["predicted_for"], "Mesa's compiler, not Arm's");
  EXPECT_TRUE(contains(table, "predicted us, Mesa's compiler, not Arm's |")) << table;
}

TEST(report, predictions_of_another_gpu_or_variant_are_refused) {
  const TemporaryFolder folder;
  const std::string results = folder.file("results.json"), mali = folder.file("mali.json");
  write_file(results, results_of_a_mali().dump());
  const auto refused = [&](const std::string& predictions) {
    write_file(mali, predictions);
    const Finished finished = run_clam({"report", "--markdown", results, "--predicted", mali});
    EXPECT_EQ(finished.code, 2) << finished.out;
    return finished.err;
  };
  EXPECT_TRUE(contains(refused(predictions_for("g52", "softmax_row").dump()),
                       "is about Mali-G52, and none of the results is of one"));
  EXPECT_TRUE(contains(refused(predictions_for("g610", "softmax_rows").dump()),
                       "none of its problems was measured there by the same variant"));
  EXPECT_TRUE(
      contains(refused(predictions_for("g9", "softmax_row").dump()), "mali.json: unknown GPU"));
  json wrong = predictions_for("g610", "softmax_row");
  wrong["gpus"][0]["problems"][1]["predicted_us"] = {{"low", 31.5}};
  EXPECT_TRUE(contains(refused(wrong.dump()), "predicted_us is not a list of numbers"));
  EXPECT_TRUE(contains(refused("{}"), "give a file of clam mali --json"));
  EXPECT_TRUE(contains(refused("{"), "is not JSON (byte 2): give a file of clam mali --json"));
}

TEST(report, counts_are_json_too) {
  const json summary = parse_out(run_clam({"report", made_up("g1"), "--markdown", "--json", "-"}));
  EXPECT_EQ(summary.at("clam_report"), 1);
  EXPECT_EQ(summary.at("boards").at(0).at("invalid"), 2);
}

/// A node is counted once a call; one without a good row is left out and told.
TEST(report, a_model_has_its_time_by_op_and_its_farthest_nodes) {
  json results = json::parse(read_file(made_up("g1")));
  json& nodes = results["clam"]["workloads"][0]["nodes"];
  nodes.push_back({{"row", results["clam"]["rows"][4]["name"]}, {"name", "invalid"}, {"calls", 1}});
  nodes.push_back(
      {{"row", nodes[1]["row"]}, {"name", "inside"}, {"calls", 36}, {"folded_into", "dense_3"}});
  const json data = json::parse(data_text(page_of_results(results)));
  const json& model = data["boards"][0]["models"][0];
  EXPECT_EQ(model["name"], "lightglue-192");
  EXPECT_EQ(model["left_out"], 1);
  EXPECT_DOUBLE_EQ(model["us"], 18 * 320.0 + 36 * 95.2);
  EXPECT_EQ(model["ops"][0], (json{{"name", "dense"},
                                   {"us", 5760.0},
                                   {"nodes", 1},
                                   {"floor_us", model["ops"][0]["floor_us"]}}));
  ASSERT_EQ(model["farthest"].size(), 2u);
  EXPECT_EQ(model["farthest"][0]["name"], "dense_3");
  EXPECT_EQ(model["farthest"][0]["calls"], 18);
  nodes.clear();
  EXPECT_TRUE(json::parse(data_text(page_of_results(results)))["boards"][0]["models"].empty());
}

TEST(report, markdown_is_the_golden_one) {
  const std::string path = kSource + "/tests/cli/golden/report.md";
  const std::string text =
      markdown_of({made_up("g1")}) + "\n---\n\n" + markdown_of({made_up("g1"), made_up("g2")});
  const char* update = std::getenv("CLAM_UPDATE_GOLDEN");
  if (update && std::string(update) == "1") write_file(path, text);
  EXPECT_EQ(read_file(path), text) << "if this is meant: CLAM_UPDATE_GOLDEN=1 build/clam-tests";
}

TEST(report, markdown_is_clamped_and_cannot_leave_its_cell) {
  json results = hostile_results();
  json& wrong = results["clam"]["rows"][4];
  wrong["name"] = "a|b`c\nd " + std::string(500, 'x');
  wrong["reason"] = std::string(5000, 'y') + "\n# heading";
  results["clam"]["device"]["platform"] = "@everyone *bold*";
  const TemporaryFolder folder;
  write_file(folder.file("x.json"), results.dump());
  const std::string text = markdown_of({folder.file("x.json")});
  EXPECT_TRUE(contains(text, "`a\\|b'c d xxx")) << text;
  EXPECT_TRUE(contains(text, "\\@everyone \\*bold\\*")) << text;
  EXPECT_FALSE(contains(text, "<img")) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 500u) << line;
}

// ---- in a browser

std::size_t rows_of(const Seen& seen, const std::string& status) {
  const std::size_t body = seen.dom.find("<section id=\"rows\"");
  return count_of(seen.dom.substr(body), "<tr class=\"" + status + "\">");
}

TEST(report_browser, rows_cards_and_charts_are_in_the_document) {
  CLAM_NEEDS_BROWSER();
  const std::string page = page_of({made_up("g1"), made_up("g2")});
  const Seen seen = look_at(page);
  EXPECT_EQ(seen.console, "");
  EXPECT_EQ(rows_of(seen, "OK"), 10u);
  EXPECT_EQ(rows_of(seen, "INVALID"), 2u);
  EXPECT_EQ(rows_of(seen, "skipped"), 0u) << "told by the board's card, shown when asked for";
  for (const char* words :
       {"2 rows INVALID, 10 OK, 1 skipped", "<h2 id=\"invalid-title\">2 rows INVALID</h2>",
        "condition 4, peak: 7669.6 GFLOP/s, but the device does", "<s>7670</s>", "<dd>1.2.3</dd>",
        "<dd>850 to 806 MHz</dd>", "<dd>450.0 GFLOP/s</dd>", "This machine shows no clock",
        "clock moved 5.2 %", "skipped (1): cannot run on Made-up-G2: the device has no cl_khr_fp16",
        "318.4 to 321.9", "273.0 to 557.0", "12 of 13 rows shown", "Side by side", "320.0 (70 %)",
        "aria-sort=\"none\""}) {
    EXPECT_TRUE(contains(seen.dom, words)) << words;
  }
  if (contains(page, "Chart.js v")) {
    for (const char* figure : {"roofline", "shares", "predicted"}) {
      EXPECT_TRUE(contains(seen.dom, fmt::format("<figure id=\"{}\">", figure))) << figure;
    }
    EXPECT_TRUE(contains(seen.dom, "<p id=\"no-charts\" hidden"));
  }
}

TEST(report_browser, a_script_that_fails_is_seen) {
  CLAM_NEEDS_BROWSER();
  const Seen seen = look_at(page_of({made_up("g2")}), "nobody.knows();");
  EXPECT_TRUE(contains(seen.console, "nobody is not defined")) << seen.console;
}

TEST(report_browser, text_that_would_be_html_stays_text) {
  CLAM_NEEDS_BROWSER();
  const Seen seen =
      look_at(page_of_results(hostile_results()),
              "document.body.dataset.found = document.images.length + "
              "document.querySelectorAll('#boards b, #rows i').length + "
              "(document.title.startsWith('clam: <' + '/script>') ? ' and title' : '');");
  EXPECT_EQ(seen.console, "");
  EXPECT_TRUE(contains(seen.dom, "data-found=\"0 and title\""));
  EXPECT_TRUE(contains(seen.dom, "<summary>1 peak not measured</summary>"));
  EXPECT_EQ(rows_of(seen, "INVALID"), 2u);
}

/// What a person does with the table, noted in the body's data-seen.
constexpr const char* kUse = R"js(
  const seen = [];
  const note = (what) => {
    const cells = [...document.querySelectorAll("#rows tbody tr")];
    const head = document.querySelector("#rows th[aria-sort=ascending], #rows th[aria-sort=descending]");
    seen.push(what + ":" + cells.map((row) => row.className[0] + row.cells[4].textContent).join(",") +
              (head ? " " + head.textContent + " " + head.getAttribute("aria-sort") : ""));
    document.body.dataset.seen = seen.join("; ");
  };
  const form = document.getElementById("filters");
  const set = (name, change) => {
    change(form.elements[name]);
    form.dispatchEvent(new Event("input"));
  };
  const us = [...document.querySelectorAll("#rows thead button")].find((b) => b.textContent === "us");
  us.click(), note("up");
  us.click(), note("down");
  set("words", (field) => { field.value = "DENSE f32 g1"; }), note("words");
  set("invalid", (field) => { field.checked = false; }), note("without");
  form.elements.words.value = "";
  set("skipped", (field) => { field.checked = true; });
  set("dtype", (field) => { field.value = "f16"; }), note("f16");
)js";

TEST(report_browser, the_table_sorts_and_filters_and_keeps_invalid_rows) {
  CLAM_NEEDS_BROWSER();
  const Seen seen = look_at(page_of({made_up("g1"), made_up("g2")}), kUse);
  EXPECT_EQ(seen.console, "");
  for (const char* words :
       {"up:I70.0,O92.5,O95.2,O180.0,O190.0,O310.0,O310.0,O320.0,O450.0,O1400,O7400,I us "
        "ascending;",
        "down:O7400,O1400,O450.0,O320.0,O310.0,O310.0,O190.0,O180.0,O95.2,O92.5,I70.0,I us desc",
        "words:O320.0,I70.0,I us", "without:O320.0 us", "f16:O180.0,s us"}) {
    EXPECT_TRUE(contains(seen.dom, words)) << words << "\n" << seen.dom.substr(0, 20000);
  }
}

TEST(report_browser, the_command_is_copied_or_shown) {
  CLAM_NEEDS_BROWSER();
  const std::string page = page_of({made_up("g2")});
  const std::string command = "clam-bench --problem 'dense m=192 n=512 k=512 dtype=f32 bias'";
  const std::string click = "document.querySelector('td button').click();";
  const Seen seen = look_at(page, click);
  EXPECT_EQ(seen.console, "");
  EXPECT_FALSE(contains(seen.dom, "id=\"copied\" role=\"status\" hidden"));
  // No clipboard: the command stands there, selected.
  const std::string none =
      "Object.defineProperty(navigator, 'clipboard', {value: undefined});" + click +
      "setTimeout(() => { document.body.dataset.copied = "
      "document.querySelector('#copied input').value + (getSelection().toString() ? '!' : '?'); }, "
      "500);";
  const Seen without = look_at(page, none);
  EXPECT_EQ(without.console, "");
  EXPECT_TRUE(contains(without.dom, "data-copied=\"" + command)) << without.dom.substr(0, 9000);
}

TEST(report_browser, without_the_chart_library_one_sentence_stands_in) {
  CLAM_NEEDS_BROWSER();
  std::string page = page_of({made_up("g1")});
  const std::string start = "<script id=\"chart-library\">";
  const std::size_t begin = page.find(start) + start.size();
  page.erase(begin, page.find("</script>", begin) - begin);
  const Seen seen = look_at(page);
  EXPECT_EQ(seen.console, "");
  EXPECT_TRUE(contains(seen.dom, "<p id=\"no-charts\">")) << "its sentence";
  EXPECT_TRUE(contains(seen.dom, "<figure id=\"roofline\" hidden"));
  EXPECT_EQ(rows_of(seen, "OK"), 5u);
}

/// Whether the page, in a frame of a phone's width, fits into it. `script` runs in the page.
std::string on_a_phone(std::string page, const std::string& script = "") {
  const TemporaryFolder folder;
  page.insert(page.rfind("</body>"),
              "<script>" + script +
                  "const root = document.documentElement; parent.postMessage(innerWidth + "
                  "(root.scrollWidth > root.clientWidth ? ' too wide' : ' fits'), '*')</script>");
  write_file(folder.file("page.html"), page);
  return look_at("<!doctype html><body><iframe src=\"file://" + folder.file("page.html") +
                     "\" style=\"width:390px;height:800px;border:0\"></iframe></body>",
                 "addEventListener('message', (event) => { document.body.dataset.width = "
                 "event.data; });")
      .dom;
}

TEST(report_browser, a_phone_need_not_scroll_sideways) {
  CLAM_NEEDS_BROWSER();
  const std::string page = page_of({made_up("g1"), made_up("g2")});
  EXPECT_TRUE(contains(on_a_phone(page), "data-width=\"390 fits\""));
  const std::string wide = "document.querySelector('h1').style.width = '500px';";
  EXPECT_TRUE(contains(on_a_phone(page, wide), "data-width=\"390 too wide\""));
}

// ---- colours

double channel(const std::string& hex) {
  const double value = std::stoi(hex, nullptr, 16) / 255.0;
  return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

/// Relative luminance of "#rrggbb", as WCAG defines it.
double luminance(const std::string& colour) {
  return 0.2126 * channel(colour.substr(1, 2)) + 0.7152 * channel(colour.substr(3, 2)) +
         0.0722 * channel(colour.substr(5, 2));
}

double contrast(const std::string& one, const std::string& other) {
  const double a = luminance(one), b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

/// Values of "--name: #rrggbb;" in each of the style's blocks :root.
std::vector<std::map<std::string, std::string>> palettes(const std::string& style) {
  std::vector<std::map<std::string, std::string>> all;
  for (const Groups& block : matches(style, ":root \\{([^}]*)\\}")) {
    all.emplace_back();
    for (const Groups& line : matches(block[1], "--([a-z-]+): (#[0-9a-f]{6});")) {
      all.back()[line[1]] = line[2];
    }
  }
  return all;
}

TEST(report, text_stands_out_from_its_ground) {
  const auto all = palettes(read_file(kSource + "/tools/report/page.css"));
  ASSERT_EQ(all.size(), 2u) << "light, on paper too, and dark";
  constexpr double kEnough = 4.5;  // WCAG 2, level AA
  for (const auto& palette : all) {
    ASSERT_EQ(palette.size(), 8u);
    for (const char* ground : {"paper", "card", "bad-card"}) {
      for (const char* text : {"ink", "quiet", "accent", "bad"}) {
        EXPECT_GE(contrast(palette.at(text), palette.at(ground)), kEnough)
            << text << " on " << ground;
      }
    }
  }
  EXPECT_LT(contrast("#999999", "#ffffff"), kEnough);
}

TEST(report_browser, dark_is_dark) {
  CLAM_NEEDS_BROWSER();
  const std::string page = page_of({made_up("g1")});
  const std::string ask =
      "document.body.dataset.ground = getComputedStyle(document.body).backgroundColor";
  EXPECT_TRUE(contains(look_at(page, ask).dom, "data-ground=\"rgb(255, 255, 255)\""));
  const Seen dark = look_at(page, ask, Scheme::dark);
  EXPECT_TRUE(contains(dark.dom, "data-ground=\"rgb(15, 20, 25)\""));
  EXPECT_EQ(dark.console, "");
}

}  // namespace
}  // namespace clam::test
