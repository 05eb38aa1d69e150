import { readFile } from "node:fs/promises";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { CandidateWorker, ElectionAlerts, LeaderScheduledFunction, RunAlerts } from "@leasehold/infra-gcp";
import { emptyStack, leasesIn, synthesized, type Resource } from "./synthesized.ts";

const location = "europe-west1";
const image = "registry.example/any:1";
const channels = { notificationChannels: ["projects/my-project/notificationChannels/1"] };

function workerIn(stack: TerraformStack): CandidateWorker {
  return new CandidateWorker(stack, "W", { leases: leasesIn(stack), elections: ["b"], name: "billing", location, image });
}

function functionIn(stack: TerraformStack, timeoutMs = 300_000): LeaderScheduledFunction {
  const leases = leasesIn(stack);
  return new LeaderScheduledFunction(stack, "F", {
    leases,
    elections: ["r"],
    name: "report",
    location,
    image,
    schedule: "0 * * * *",
    timeoutMs,
  });
}

/** Returns each policy's filter, window and threshold, by the policy's name. */
function policies(stack: TerraformStack): Record<string, Resource> {
  const found = synthesized(stack).of("google_monitoring_alert_policy");
  return Object.fromEntries(
    found.map((policy) => {
      const [condition] = policy["conditions"] as [Resource];
      return [String(policy["display_name"]), condition["condition_threshold"] as Resource];
    }),
  );
}

describe("alerts of an election", () => {
  test("are raised if no leader reports, or if the leadership moves too often", () => {
    const stack = emptyStack();
    new ElectionAlerts(stack, "Alerts", { worker: workerIn(stack), election: "b", maxTransitions: 3, ...channels });
    const { of } = synthesized(stack);
    const pool = 'resource.type = "cloud_run_worker_pool" AND resource.labels.worker_pool_name = "billing"';
    expect(of("google_logging_metric")).toMatchObject([
      {
        name: expect.stringMatching(/^leasehold_HasLeader_billing_[0-9a-f]{8}$/),
        filter: `${pool} AND resource.labels.location = "europe-west1" AND jsonPayload.HasLeader = 1 AND jsonPayload.Election = "b"`,
      },
      {
        name: expect.stringMatching(/^leasehold_Transitions_billing_/),
        filter: expect.stringContaining("jsonPayload.Transitions = 1"),
      },
    ]);
    expect(policies(stack)).toMatchObject({
      "b: nobody leads": {
        comparison: "COMPARISON_LT",
        threshold_value: 1,
        // Missing data also raise the alert.
        evaluation_missing_data: "EVALUATION_MISSING_DATA_ACTIVE",
        duration: "60s",
        aggregations: [{ alignment_period: "900s", per_series_aligner: "ALIGN_DELTA", cross_series_reducer: "REDUCE_SUM" }],
      },
      "b: the leadership moves too often": { comparison: "COMPARISON_GT", threshold_value: 3, duration: "0s" },
    });
    for (const policy of of("google_monitoring_alert_policy")) expect(policy["notification_channels"]).toHaveLength(1);
  });

  test("use the filter that the page on metric lines publishes", async () => {
    const page = await readFile(new URL("../../../site/pages/metric-lines.md", import.meta.url), "utf8");
    const stack = emptyStack();
    new ElectionAlerts(stack, "Alerts", { worker: workerIn(stack), election: "nightly-billing" });
    const filters = synthesized(stack)
      .of("google_logging_metric")
      .map(({ filter }) => String(filter));
    const [, published = ""] = /```text\n(.*HasLeader.*)\n```/.exec(page) ?? [];
    expect(filters.some((filter) => filter.endsWith(` AND ${published}`))).toBe(true);
  });

  test("accept a name with quotes and with Terraform's syntax", () => {
    const stack = emptyStack();
    new ElectionAlerts(stack, "Alerts", { worker: workerIn(stack), election: 'a"b${c}' });
    const [leaders] = synthesized(stack).of("google_logging_metric");
    expect(leaders!["filter"]).toContain('jsonPayload.Election = "a\\"b$${c}"');
    expect(Object.keys(policies(stack))).toContain('a"b$${c}: nobody leads');
  });

  test("need an election, and a limit above one start", () => {
    const stack = emptyStack();
    const worker = workerIn(stack);
    expect(() => new ElectionAlerts(stack, "A", { worker, election: "" })).toThrow("is empty");
    expect(() => new ElectionAlerts(stack, "B", { worker, election: "b", maxTransitions: 0 })).toThrow("at least 1");
  });
});

describe("alerts of a schedule", () => {
  test("are raised if no delivery has succeeded, or if each try of an occurrence has failed, whatever it was answered", () => {
    const stack = emptyStack();
    new RunAlerts(stack, "Alerts", { of: functionIn(stack), notRunForHours: 3, ...channels });
    const finished =
      'resource.type = "cloud_scheduler_job" AND resource.labels.job_id = "report" AND resource.labels.location = "europe-west1" ' +
      'AND jsonPayload."@type" = "type.googleapis.com/google.cloud.scheduler.logging.AttemptFinished" AND severity';
    const metrics = synthesized(stack).of("google_logging_metric");
    expect(new Map(metrics.map(({ name, filter }) => [String(name).replace(/_[0-9a-f]{8}$/, ""), String(filter)]))).toEqual(
      new Map([
        ["leasehold_succeeded_report", `${finished} < ERROR`],
        ["leasehold_failed_report", `${finished} >= ERROR`],
      ]),
    );
    const counted = (metric: string): unknown =>
      expect.stringMatching(
        new RegExp(
          `^metric\\.type = "logging\\.googleapis\\.com/user/\\$\\{google_logging_metric\\.Alerts_${metric}_\\w+\\.name\\}" AND `,
        ),
      );
    expect(policies(stack)).toMatchObject({
      "report in europe-west1: not run for 3 hours": {
        filter: counted("Successes"),
        comparison: "COMPARISON_LT",
        threshold_value: 1,
        aggregations: [{ alignment_period: "10800s" }],
      },
      "report in europe-west1: an occurrence has failed": {
        filter: counted("Failures"),
        // One delivery and five more: only the sixth failure loses the occurrence.
        comparison: "COMPARISON_GT",
        threshold_value: 5,
        // Six times 300 s, and five times 79 s between them, in whole minutes.
        aggregations: [{ alignment_period: "2220s" }],
      },
    });
  });

  test("look for no missing run of a schedule that no policy can look back on", () => {
    const stack = emptyStack();
    new RunAlerts(stack, "Alerts", { of: functionIn(stack) });
    expect(Object.keys(policies(stack))).toEqual(["report in europe-west1: an occurrence has failed"]);
  });

  test("look back no further than a policy does, with the minute for which data have to be missing", () => {
    const stack = emptyStack();
    new RunAlerts(stack, "Alerts", { of: functionIn(stack), notRunForHours: 25 });
    expect(policies(stack)["report in europe-west1: not run for 25 hours"]).toMatchObject({
      duration: "60s",
      aggregations: [{ alignment_period: `${25 * 3_600 - 60}s` }],
    });
  });

  test.each([0, 1.5, 26])("refuse %d hours", (notRunForHours) => {
    const stack = emptyStack();
    const run = functionIn(stack);
    expect(() => new RunAlerts(stack, "Alerts", { of: run, notRunForHours })).toThrow("1 to 25");
  });
});
