use super::{fairground, files, refuses, succeeds};

const RUNS: &str = "hikey960 sched-pipe:loops=30 --base fair:v5.9 --test fair:v5.9+asym-prev-first";

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The script and its model, and no address in it.
#[test]
fn runs_and_traces_become_pages() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    succeeds(&format!("view {RUNS} -o {}", file("two.html")));
    succeeds(&format!("view hikey960 sched-pipe:loops=30 --sched fair:v5.9 --ask fair:v6.12 -o {}", file("one.html")));
    succeeds(&format!("run hikey960 sched-pipe:loops=30 --sched fair:v5.9 --trace {} --why", file("base.dat")));
    succeeds(&format!("run hikey960 sched-pipe:loops=30 --sched fair:v6.12 --trace {}", file("test.txt")));
    succeeds(&format!("view {} {} --from 0.001 -o {}", file("base.dat"), file("test.txt"), file("traces.html")));
    for (name, title) in
        [("two.html", "hikey960 sched-pipe:loops=30"), ("one.html", "hikey960"), ("traces.html", "base.dat")]
    {
        let page = read(&dir.path().join(name));
        assert!(page.contains("FairgroundView.mountPacked(") && page.contains("id=\"model\">"), "{name}");
        assert!(page.contains("default-src 'none'") && !page.contains("http:") && !page.contains("https:"), "{name}");
        assert!(page.split("</title>").next().is_some_and(|head| head.contains(title)), "{name}");
        assert!(page.contains("<p class=\"soft\">made by: fairground ") && page.contains("command: "), "{name}");
        let from = ["; machine ", ", workload ", "figures sourced"];
        assert_eq!(from.map(|part| page.contains(part)), [name != "traces.html"; 3], "{name}");
    }
}

#[test]
fn a_view_says_what_it_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let out = format!("-o {}", file("page.html"));
    refuses(&format!("view hikey960 {out}"), &["hikey960 is a machine, and no workload is named"]);
    refuses(&format!("view hikey960 sched-pipe {out}"), &["no scheduler is named", "--sched fair:"]);
    refuses(&format!("view sched-pipe hikey960 --sched fair: {out}"), &["the machine comes first"]);
    refuses(&format!("view {} {out}", file("none.dat")), &["there is no such file"]);
    refuses(&format!("view {RUNS} --ask linux:mine {out}"), &["--ask takes a scheduler of ours"]);
    refuses(&format!("view {RUNS} --from 2 --to 1 {out}"), &["--to comes before --from"]);
    std::fs::write(file("kernel.txt"), "a-1 [000] 1.0: cpu_idle: state=1 cpu_id=0\n").unwrap();
    let trace = file("kernel.txt");
    refuses(&format!("view {trace} {out}"), &["has no event that can be shown"]);
    refuses(&format!("view {trace} --sched fair: {out}"), &["--sched is for runs"]);
    refuses(&format!("view {trace} --ask fair: {out}"), &["the machine of", "is not known", "--machine"]);
    refuses(&format!("view {trace} -o {trace}"), &["this command reads it"]);
    assert_eq!(files(dir.path()), ["kernel.txt"], "nothing half-written");
}

#[test]
fn a_comparison_is_viewed_by_its_first_pair() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (saved, page) = (file("saved.json"), file("page.html"));
    succeeds(&format!("compare {RUNS} --seeds 3-4 --governor powersave --format json --output {saved}"));
    let ran = fairground(&format!("view {saved} -o {page}"));
    assert_eq!((ran.code, ran.stderr.contains("warning")), (0, false), "{}", ran.stderr);
    refuses(&format!("view {saved} --governor schedutil -o {page}"), &["--governor is for runs that are named"]);
    refuses(&format!("view {saved} --draw 3 -o {page}"), &["--draw is for runs that are named"]);
    let text = read(saved.as_ref());
    let hash = text.split("\"base_hash\": \"").nth(1).unwrap()[..32].to_owned();
    std::fs::write(&saved, text.replace(&hash, &"0".repeat(32))).unwrap();
    let ran = fairground(&format!("view {saved} -o {page}"));
    assert!(ran.code == 0 && ran.stderr.contains("is not the run of the comparison"), "{}", ran.stderr);
    refuses(
        &format!("view {saved} --test fair:v6.1 -o {page}"),
        &["no comparison with --test fair:v6.1", "asym-prev-first"],
    );
    for (content, part) in [
        ("{", "not JSON"),
        ("{\"schema\": \"x\"}", "no document of the schema fairground-compare-2"),
        ("[]", "no document"),
    ] {
        std::fs::write(&saved, content).unwrap();
        refuses(&format!("view {saved} -o {page}"), &[part]);
    }
}

#[test]
fn a_page_of_a_comparison_has_rules_that_moved_and_links_its_traces() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    refuses(&format!("compare {RUNS} --traces {}", file("traces")), &["--traces is for --format html"]);
    let (page, traces) = (file("page.html"), file("traces"));
    succeeds(&format!("compare {RUNS} --seeds 2 --format html --traces {traces} --output {page}"));
    let text = read(page.as_ref());
    for part in [
        "Rules that moved",
        "select_idle_sibling: previous CPU (A2)",
        "fairground view hikey960 sched-pipe:loops=30 --base fair:v5.9",
    ] {
        assert!(text.contains(part), "no {part}");
    }
    for name in ["base-1.perfetto-trace", "test-1.perfetto-trace"] {
        assert!(text.contains(&format!("href=\"traces/{name}\"")), "no link to {name}");
        succeeds(&format!("explain {traces}/{name}"));
    }
    let same =
        succeeds("compare hikey960 sched-pipe:loops=30 --base fair:v5.9 --test fair:v5.9 --seeds 2 --format html");
    assert!(same.contains("base and test made the same run") && !same.contains("Rules that moved"), "{same}");
}
