import { warningsOf } from "@leasehold/test-kit/terrain";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { CandidateWorker, type CandidateWorkerProps } from "@leasehold/infra-gcp";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

function workerIn(stack: TerraformStack, props: Partial<CandidateWorkerProps> = {}): CandidateWorker {
  const leases = leasesIn(stack);
  return new CandidateWorker(stack, "Worker", {
    leases,
    elections: ["billing"],
    name: "billing",
    location: "europe-west1",
    image: "registry.example/billing:1",
    ...props,
  });
}

describe("a worker pool of candidates", () => {
  test("runs as many instances as there are candidates, all the time", () => {
    const stack = emptyStack();
    workerIn(stack, { candidates: 3 });
    expect(synthesized(stack).of("google_cloud_run_v2_worker_pool")).toMatchObject([{ scaling: { manual_instance_count: 3 } }]);
    expect(warningsOf(stack)).toEqual([]);
  });

  test("has a service account of its own that is a candidate before it runs", () => {
    const stack = emptyStack();
    workerIn(stack);
    const { of } = synthesized(stack);
    expect(of("google_cloud_run_v2_worker_pool")).toMatchObject([
      {
        template: { service_account: expect.stringMatching(/^\$\{google_service_account\.Worker_ServiceAccount_\w+\.email\}$/) },
        depends_on: [
          expect.stringMatching(/^google_project_iam_member\.Leases_Candidate/),
          expect.stringMatching(/^google_firestore_database\.Leases_Database/),
        ],
      },
    ]);
    expect(of("google_project_iam_member")).toMatchObject([
      { member: expect.stringMatching(/^\$\{google_service_account\.Worker_ServiceAccount_\w+\.member\}$/) },
    ]);
  });

  test("gets the location of its leases", () => {
    const stack = emptyStack();
    workerIn(stack, { environment: { COLOUR: "red" }, command: ["node", "billing.js"], cpu: "2" });
    expect(synthesized(stack).of("google_cloud_run_v2_worker_pool")).toMatchObject([
      {
        template: {
          containers: [
            {
              image: "registry.example/billing:1",
              command: ["node", "billing.js"],
              env: [
                { name: "GOOGLE_CLOUD_PROJECT", value: "my-project" },
                { name: "LEASE_DATABASE", value: "leases" },
                { name: "ELECTION", value: "billing" },
                { name: "DRAIN_TIMEOUT_MS", value: "8000" },
                { name: "HEALTH_PORT", value: "8080" },
                { name: "COLOUR", value: "red" },
              ],
              resources: { limits: { cpu: "2", memory: "512Mi" } },
            },
          ],
        },
      },
    ]);
  });

  test("is restarted when it no longer answers, and not because of the store", () => {
    const stack = emptyStack();
    workerIn(stack);
    expect(synthesized(stack).of("google_cloud_run_v2_worker_pool")).toMatchObject([
      { template: { containers: [{ liveness_probe: { http_get: { path: "/live", port: 8080 } } }] } },
    ]);
  });

  test("accepts a short name if the account has another id", () => {
    const stack = emptyStack();
    workerIn(stack, { name: "b", accountId: "billing-account", drainTimeoutMs: 500 });
    const { of } = synthesized(stack);
    expect(of("google_service_account")).toMatchObject([{ account_id: "billing-account" }]);
    expect(of("google_cloud_run_v2_worker_pool")).toMatchObject([{ name: "b" }]);
    expect(JSON.stringify(of("google_cloud_run_v2_worker_pool"))).toContain('{"name":"DRAIN_TIMEOUT_MS","value":"500"}');
  });

  test("warns of a single candidate", () => {
    const stack = emptyStack();
    workerIn(stack, { candidates: 1 });
    expect(warningsOf(stack)).toEqual([expect.stringContaining("nobody to take over")]);
  });

  test.each([
    ["the elector's default drain, for which Cloud Run does not wait", { drainTimeoutMs: 15_000 }, "10000 ms after SIGTERM"],
    ["a drain that is none", { drainTimeoutMs: -1 }, "drainTimeoutMs is -1"],
    ["no candidates", { candidates: 0 }, "candidates is 0"],
    ["no elections", { elections: [] }, "names no election"],
    ["a name too short for a service account", { name: "bill" }, "6 to 30"],
    ["a name with an underscore", { name: "bill_ing", accountId: "billing" }, "1 to 49"],
    ["a variable of its own making", { environment: { LEASE_DATABASE: "other" } }, "environment sets LEASE_DATABASE"],
  ])("refuses %s", (_, props, message) => {
    expect(() => workerIn(emptyStack(), props)).toThrow(message);
  });
});
