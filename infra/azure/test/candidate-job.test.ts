import { warningsOf } from "@leasehold/test-kit/terrain";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { CandidateJob, type CandidateJobProps } from "@leasehold/infra-azure";
import { emptyStack, GROUP, leasesIn, synthesized } from "./synthesized.ts";

function jobIn(stack: TerraformStack, props: Partial<CandidateJobProps> = {}): CandidateJob {
  const leases = leasesIn(stack);
  return new CandidateJob(stack, "Job", {
    leases,
    elections: ["settlement"],
    resourceGroup: GROUP,
    name: "settlement",
    image: "registry.example/settlement:1",
    schedule: "0 * * * *",
    ...props,
  });
}

describe("a job of a candidate", () => {
  const stack = emptyStack();
  jobIn(stack, { timeoutMs: 900_500, registry: { server: "mine.azurecr.io", id: "/registry" } });
  const { of } = synthesized(stack);
  const [job] = of("azurerm_container_app_job");

  test("begins one replica at each tick, and retries if it fails", () => {
    expect(job).toMatchObject({
      schedule_trigger_config: { cron_expression: "0 * * * *", parallelism: 1, replica_completion_count: 1 },
      // A fourth try of 976 s would last until after the next tick.
      replica_retry_limit: 2,
      identity: { type: "UserAssigned" },
    });
    expect(warningsOf(stack)).toEqual([]);
  });

  test("leaves a replica time to wait for a dead one's claim, at most a minute, and then to work", () => {
    const seconds = Number(job?.["replica_timeout_in_seconds"]);
    expect(seconds).toBeGreaterThan(900.5 + 60);
    expect(seconds).toBe(976);
  });

  test("gets the location of its leases, its schedule, and the time of its work", () => {
    expect(job).toMatchObject({
      template: {
        container: [
          {
            env: [
              { name: "AZURE_CLIENT_ID" },
              { name: "LEASE_ACCOUNT_URL" },
              { name: "LEASE_CONTAINER", value: "leases" },
              { name: "ELECTION", value: "settlement" },
              { name: "LEADER_SCHEDULE", value: "0 * * * *" },
              { name: "LEADER_TIMEOUT_MS", value: "900500" },
            ],
          },
        ],
      },
    });
  });

  test("depends on the rights that it needs", () => {
    expect(job?.["depends_on"]).toEqual([
      expect.stringMatching(/^azurerm_role_assignment\.Leases_Candidate/),
      expect.stringMatching(/^azurerm_role_assignment\.Job_Pull/),
    ]);
  });

  test.each([
    ["six fields", { schedule: "0 0 3 * * *" }, "five fields"],
    ["no retries", { retries: 0 }, "whose replica dies is lost"],
    ["half a retry", { retries: 0.5 }, "retries is 0.5"],
    ["a timeout of more than a day", { timeoutMs: 86_400_001 }, "timeoutMs is 86400001"],
    ["a timeout that is none", { timeoutMs: Number.NaN }, "timeoutMs is NaN"],
    ["ticks too close for a retry", { schedule: "*/15 * * * *" }, "a retry would do the next tick"],
    ["more retries than end before the next tick", { retries: 10 }, "retries is 10, and only 4 of 675 s"],
    ["no elections", { elections: [] }, "names no election"],
  ])("refuses %s", (_, props, message) => {
    expect(() => jobIn(emptyStack(), props)).toThrow(message);
  });
});
