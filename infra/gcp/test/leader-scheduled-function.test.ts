import { MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeader } from "@leasehold/functions";
import { warningsOf } from "@leasehold/test-kit/terrain";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "@leasehold/infra-gcp";
import { emptyStack, leasesIn, synthesized, type Resource } from "./synthesized.ts";

function functionIn(stack: TerraformStack, props: Partial<LeaderScheduledFunctionProps> = {}): LeaderScheduledFunction {
  const leases = leasesIn(stack);
  return new LeaderScheduledFunction(stack, "Report", {
    leases,
    elections: ["nightly-report"],
    name: "nightly-report",
    location: "europe-west1",
    image: "registry.example/report:1",
    schedule: "0 3 * * *",
    ...props,
  });
}

describe("a scheduled function", () => {
  test("is called only by its job, as a service account of its own", () => {
    const stack = emptyStack();
    functionIn(stack);
    const { of } = synthesized(stack);
    const invoker = /^\$\{google_service_account\.Report_Invoker_\w+\.(?:email|member)\}$/;
    const uri = expect.stringMatching(/^\$\{google_cloud_run_v2_service\.Report_Function_\w+\.uri\}$/);
    expect(of("google_cloud_run_v2_service")).toMatchObject([{ ingress: "INGRESS_TRAFFIC_INTERNAL_ONLY" }]);
    expect(of("google_cloud_run_v2_service_iam_member")).toMatchObject([
      { role: "roles/run.invoker", member: expect.stringMatching(invoker) },
    ]);
    expect(of("google_cloud_scheduler_job")).toMatchObject([
      {
        schedule: "0 3 * * *",
        time_zone: "Etc/UTC",
        http_target: {
          uri,
          http_method: "POST",
          oidc_token: { service_account_email: expect.stringMatching(invoker), audience: uri },
        },
        depends_on: [expect.stringMatching(/^google_cloud_run_v2_service_iam_member\./)],
      },
    ]);
  });

  test("has its timeout in Cloud Scheduler's deadline and in its environment", () => {
    const stack = emptyStack();
    functionIn(stack, { timeoutMs: 600_000, environment: { COLOUR: "red" } });
    const { of } = synthesized(stack);
    expect(of("google_cloud_run_v2_service")).toMatchObject([
      {
        template: {
          timeout: "600s",
          containers: [
            {
              env: [
                { name: "GOOGLE_CLOUD_PROJECT", value: "my-project" },
                { name: "LEASE_DATABASE", value: "leases" },
                { name: "ELECTION", value: "nightly-report" },
                { name: "LEADER_SCHEDULE", value: "0 3 * * *" },
                { name: "CLOUD_RUN_TIMEOUT_SECONDS", value: "600" },
                { name: "COLOUR", value: "red" },
              ],
            },
          ],
        },
      },
    ]);
    expect(of("google_cloud_scheduler_job")).toMatchObject([{ attempt_deadline: "600s" }]);
  });

  test.each([15_000, 60_000, 300_000, 1_800_000])(
    "is delivered again until the lease of a dead delivery is over (%d ms)",
    async (timeoutMs) => {
      const stack = emptyStack();
      functionIn(stack, { timeoutMs });
      const [job] = synthesized(stack).of("google_cloud_scheduler_job");
      const retries = job?.["retry_config"] as Resource;
      expect(retries["max_backoff_duration"]).toBe(retries["min_backoff_duration"]);
      // The limit of Cloud Scheduler.
      expect(retries["retry_count"]).toBe(5);
      // The lease that a function of this timeout takes. A tenth of it is unused.
      const store = new MemoryLeaseStore();
      const handle = onlyAsLeader({ store, election: "x", remainingMs: timeoutMs }, (leadership) => leadership.remainingMs());
      const leaseMs = Number(await handle()) / 0.9;
      expect(leaseMs).toBeGreaterThan(timeoutMs);
      expect(5 * Number.parseInt(String(retries["min_backoff_duration"]), 10) * 1_000).toBeGreaterThan(leaseMs + 30_000);
    },
  );

  test("has one name in two regions, which identifies an occurrence, and an account for each", () => {
    const stack = emptyStack();
    const leases = leasesIn(stack);
    const props = { leases, elections: ["r"], name: "nightly-report", image: "x", schedule: "0 3 * * *" };
    new LeaderScheduledFunction(stack, "West", { ...props, location: "europe-west1" });
    expect(() => new LeaderScheduledFunction(stack, "Twin", { ...props, location: "us-east4" })).toThrow(
      'stack/Twin and stack/West would both make the service account "nightly-report"',
    );
    new LeaderScheduledFunction(stack, "East", { ...props, location: "us-east4", accountId: "report-east" });
    const { of } = synthesized(stack);
    const jobs = of("google_cloud_scheduler_job").map((each): [string, string] => [String(each["region"]), String(each["name"])]);
    expect(new Map(jobs)).toEqual(
      new Map([
        ["europe-west1", "nightly-report"],
        ["us-east4", "nightly-report"],
      ]),
    );
    expect(new Set(of("google_service_account").map((account) => String(account["account_id"])))).toEqual(
      new Set(["nightly-report", "nightly-report-invoker", "report-east", "report-east-invoker"]),
    );
    expect(warningsOf(stack)).toEqual([]);
  });

  test("is a candidate by a service account that cannot call it", () => {
    const stack = emptyStack();
    functionIn(stack);
    const { of } = synthesized(stack);
    expect(of("google_project_iam_member")).toMatchObject([
      { member: expect.stringMatching(/^\$\{google_service_account\.Report_ServiceAccount_\w+\.member\}$/) },
    ]);
    const ids = of("google_service_account").map((account) => String(account["account_id"]));
    expect(ids.toSorted()).toEqual(["nightly-report", "nightly-report-invoker"]);
  });

  test.each([
    ["six fields", { schedule: "0 0 3 * * *" }, "five fields"],
    ["a timeout that Cloud Scheduler does not wait for", { timeoutMs: 3_600_000 }, "would deliver again"],
    ["a timeout of no whole seconds", { timeoutMs: 15_500 }, "whole seconds"],
    ["a variable of its own making", { environment: { ELECTION: "x" } }, "environment sets ELECTION"],
    ["no elections", { elections: [] }, "names no election"],
    ["a name too long for two service accounts", { name: "a".repeat(23) }, "6 to 22"],
  ])("refuses %s", (_, props, message) => {
    expect(() => functionIn(emptyStack(), props)).toThrow(message);
  });
});
