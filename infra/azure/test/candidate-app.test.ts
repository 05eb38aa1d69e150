import { warningsOf } from "@leasehold/infra-terrain/testing";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { CandidateApp, type CandidateAppProps } from "@leasehold/infra-azure";
import { rightsIn } from "./role-evaluation.ts";
import { emptyStack, GROUP, leasesIn, synthesized } from "./synthesized.ts";

function appIn(stack: TerraformStack, props: Partial<CandidateAppProps> = {}): CandidateApp {
  const leases = leasesIn(stack);
  return new CandidateApp(stack, "App", {
    leases,
    elections: ["billing"],
    resourceGroup: GROUP,
    name: "billing",
    image: "registry.example/billing:1",
    ...props,
  });
}

describe("an app of candidates", () => {
  test("runs as many replicas as there are candidates, all the time, of one revision", () => {
    const stack = emptyStack();
    appIn(stack, { candidates: 3 });
    expect(synthesized(stack).of("azurerm_container_app")).toMatchObject([
      { revision_mode: "Single", template: { min_replicas: 3, max_replicas: 3 } },
    ]);
    expect(warningsOf(stack)).toEqual([]);
  });

  test("gives a replica the drain and time for the release", () => {
    const stack = emptyStack();
    appIn(stack, { drainTimeoutMs: 60_500 });
    expect(synthesized(stack).of("azurerm_container_app")).toMatchObject([
      { template: { termination_grace_period_seconds: 76 } },
    ]);
  });

  test("has an identity of its own that is a candidate before it runs", () => {
    const stack = emptyStack();
    appIn(stack);
    const { of } = synthesized(stack);
    const [assignment] = of("azurerm_role_assignment");
    expect(of("azurerm_container_app")).toMatchObject([
      { identity: { type: "UserAssigned" }, depends_on: [expect.stringMatching(/^azurerm_role_assignment\.Leases_Candidate/)] },
    ]);
    const me = String(assignment?.["principal_id"]);
    expect(me).toMatch(/^\$\{azurerm_user_assigned_identity\.App_Identity_\w+\.principal_id\}$/);
    const action = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write";
    expect(["billing", "report"].map((path) => rightsIn(stack)(me, { action, path }))).toEqual([true, false]);
  });

  test("is told where its leases are", () => {
    const stack = emptyStack();
    appIn(stack, { environment: { COLOUR: "red" }, command: ["node", "billing.js"] });
    expect(synthesized(stack).of("azurerm_container_app")).toMatchObject([
      {
        template: {
          container: [
            {
              image: "registry.example/billing:1",
              command: ["node", "billing.js"],
              env: [
                { name: "AZURE_CLIENT_ID", value: expect.stringMatching(/client_id\}$/) },
                { name: "LEASE_ACCOUNT_URL", value: expect.stringMatching(/primary_blob_endpoint\}$/) },
                { name: "LEASE_CONTAINER", value: "leases" },
                { name: "COLOUR", value: "red" },
              ],
            },
          ],
        },
      },
    ]);
  });

  test("can be in an environment, and from a registry, that there is already", () => {
    const stack = emptyStack();
    appIn(stack, { environmentId: "/environment", registryServer: "mine.azurecr.io" });
    const { of } = synthesized(stack);
    expect(of("azurerm_container_app")).toMatchObject([
      { container_app_environment_id: "/environment", registry: [{ server: "mine.azurecr.io" }] },
    ]);
    expect(of("azurerm_container_app_environment")).toEqual([]);
    expect(of("azurerm_log_analytics_workspace")).toEqual([]);
  });

  test("warns where nobody stands by", () => {
    const stack = emptyStack();
    appIn(stack, { candidates: 1 });
    expect(warningsOf(stack)).toEqual([expect.stringContaining("nobody to take over")]);
  });

  test.each([
    ["no candidates", { candidates: 0 }, "candidates is 0"],
    ["half a candidate", { candidates: 1.5 }, "candidates is 1.5"],
    ["no elections", { elections: [] }, "names no election"],
    ["a drain that Azure does not wait for", { drainTimeoutMs: 590_000 }, "600 s after which"],
    ["a drain that is none", { drainTimeoutMs: Number.NaN }, "drainTimeoutMs is NaN"],
  ])("refuses %s", (_, props, message) => {
    expect(() => appIn(emptyStack(), props)).toThrow(message);
  });
});
