import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "@leasehold/infra-gcp";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

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
  test("is called by nobody but its job, as a service account of its own", () => {
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

  test("is waited for as long as it may take, and knows how long that is", () => {
    const stack = emptyStack();
    functionIn(stack, { timeoutMs: 600_000, retryCount: 1, environment: { COLOUR: "red" } });
    const { of } = synthesized(stack);
    expect(of("google_cloud_run_v2_service")).toMatchObject([
      {
        template: {
          timeout: "600s",
          containers: [
            {
              env: [
                { name: "CLOUD_RUN_TIMEOUT_SECONDS", value: "600" },
                { name: "GOOGLE_CLOUD_PROJECT", value: "my-project" },
                { name: "LEASE_DATABASE", value: "leases" },
                { name: "COLOUR", value: "red" },
              ],
            },
          ],
        },
      },
    ]);
    expect(of("google_cloud_scheduler_job")).toMatchObject([{ attempt_deadline: "600s", retry_config: { retry_count: 1 } }]);
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
    ["too many retries", { retryCount: 6 }, "0 to 5"],
    ["no elections", { elections: [] }, "names no election"],
    ["a name too long for two service accounts", { name: "a".repeat(23) }, "6 to 22"],
  ])("refuses %s", (_, props, message) => {
    expect(() => functionIn(emptyStack(), props)).toThrow(message);
  });
});
