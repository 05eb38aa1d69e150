import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { CandidateJob, type CandidateJobProps } from "@leasehold/infra-gcp";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

function jobIn(stack: TerraformStack, props: Partial<CandidateJobProps> = {}): CandidateJob {
  return new CandidateJob(stack, "Close", {
    leases: leasesIn(stack),
    elections: ["close-the-books"],
    name: "close-the-books",
    location: "europe-west1",
    image: "registry.example/close:1",
    schedule: "0 3 * * *",
    ...props,
  });
}

describe("a job on a schedule", () => {
  test("is started only by its schedule, with an account that can do nothing else", () => {
    const stack = emptyStack();
    jobIn(stack);
    const { of } = synthesized(stack);
    const invoker = /^\$\{google_service_account\.Close_Invoker_\w+\.(?:email|member)\}$/;
    expect(of("google_cloud_run_v2_job_iam_member")).toMatchObject([
      { role: "roles/run.invoker", member: expect.stringMatching(invoker) },
    ]);
    expect(of("google_cloud_scheduler_job")).toMatchObject([
      {
        name: "close-the-books",
        schedule: "0 3 * * *",
        time_zone: "Etc/UTC",
        http_target: {
          uri: expect.stringMatching(
            /^https:\/\/run\.googleapis\.com\/v2\/projects\/my-project\/locations\/europe-west1\/jobs\/\$\{google_cloud_run_v2_job\.Close_Job_\w+\.name\}:run$/,
          ),
          http_method: "POST",
          oauth_token: { service_account_email: expect.stringMatching(invoker) },
        },
      },
    ]);
    expect(of("google_project_iam_member")).toMatchObject([
      { member: expect.stringMatching(/^\$\{google_service_account\.Close_ServiceAccount_\w+\.member\}$/) },
    ]);
  });

  test("is retried, and has time to wait for a dead task's claim", () => {
    const stack = emptyStack();
    jobIn(stack, {
      timeoutMs: 120_000,
      timeZone: "Europe/Zurich",
      command: ["node", "close.js"],
      environment: { COLOUR: "red" },
    });
    expect(synthesized(stack).of("google_cloud_scheduler_job")).toMatchObject([{ time_zone: "Europe/Zurich" }]);
    expect(synthesized(stack).of("google_cloud_run_v2_job")).toMatchObject([
      {
        template: {
          task_count: 1,
          template: {
            timeout: "180s",
            max_retries: 3,
            containers: [
              {
                command: ["node", "close.js"],
                env: [
                  { name: "GOOGLE_CLOUD_PROJECT", value: "my-project" },
                  { name: "LEASE_DATABASE", value: "leases" },
                  { name: "ELECTION", value: "close-the-books" },
                  { name: "LEADER_SCHEDULE", value: "0 3 * * *" },
                  { name: "LEADER_TIME_ZONE", value: "Europe/Zurich" },
                  { name: "LEADER_TIMEOUT_MS", value: "120000" },
                  { name: "COLOUR", value: "red" },
                ],
              },
            ],
          },
        },
      },
    ]);
  });

  test("has only retries that end before the next tick, because a later one would do that tick", () => {
    const stack = emptyStack();
    jobIn(stack, { schedule: "*/30 * * * *" });

    expect(synthesized(stack).of("google_cloud_run_v2_job")).toMatchObject([{ template: { template: { max_retries: 1 } } }]);
  });

  test.each([
    ["six fields", { schedule: "0 0 3 * * *" }, "five fields"],
    ["more than a day", { timeoutMs: 86_400_000 }, "a day at most"],
    ["ticks too close for a retry", { schedule: "*/15 * * * *" }, "a retry would do the next tick"],
    ["no elections", { elections: [] }, "names no election"],
    ["a name too long for two service accounts", { name: "a".repeat(23) }, "6 to 22"],
    ["a variable of its own making", { environment: { LEADER_SCHEDULE: "x" } }, "environment sets LEADER_SCHEDULE"],
  ])("refuses %s", (_, props, message) => {
    expect(() => jobIn(emptyStack(), props)).toThrow(message);
  });
});
