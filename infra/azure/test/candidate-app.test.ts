import { warningsOf } from "@leasehold/test-kit/terrain";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { CandidateApp, type CandidateAppProps } from "@leasehold/infra-azure";
import { rightsIn } from "./role-evaluation.ts";
import { emptyStack, GROUP, leasesIn, synthesized } from "./synthesized.ts";

function appIn(stack: TerraformStack, props: Partial<CandidateAppProps> = {}): CandidateApp {
  const leases = leasesIn(stack);
  return new CandidateApp(stack, "App", {
    leases,
    elections: ["billing", "refunds"],
    resourceGroup: GROUP,
    name: "billing",
    containerEnvironment: { id: "/environment", workspaceId: "/workspace" },
    image: "registry.example/billing:1",
    ...props,
  });
}

describe("an app of candidates", () => {
  const stack = emptyStack();
  appIn(stack, {
    candidates: 3,
    drainTimeoutMs: 60_500,
    environment: { COLOUR: "red" },
    command: ["node", "billing.js"],
  });
  const { of } = synthesized(stack);
  const [app] = of("azurerm_container_app");

  test("runs as many replicas as there are candidates, all the time, of one revision", () => {
    expect(app).toMatchObject({ revision_mode: "Single", template: { min_replicas: 3, max_replicas: 3 } });
    expect(warningsOf(stack)).toEqual([]);
  });

  test("gives a replica the drain and time for the release", () => {
    expect(app).toMatchObject({ template: { termination_grace_period_seconds: 76 } });
  });

  test("has an identity of its own that is a candidate before it runs", () => {
    const [assignment] = of("azurerm_role_assignment");
    expect(app).toMatchObject({
      identity: { type: "UserAssigned" },
      depends_on: [expect.stringMatching(/^azurerm_role_assignment\.Leases_Candidate/)],
    });
    const me = String(assignment?.["principal_id"]);
    expect(me).toMatch(/^\$\{azurerm_user_assigned_identity\.App_Identity_\w+\.principal_id\}$/);
    const action = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write";
    expect(["billing", "report"].map((path) => rightsIn(stack)(me, { action, path }))).toEqual([true, false]);
  });

  test("gets the location of its leases, and the time that it may drain", () => {
    expect(app).toMatchObject({
      template: {
        container: [
          {
            image: "registry.example/billing:1",
            command: ["node", "billing.js"],
            env: [
              { name: "AZURE_CLIENT_ID", value: expect.stringMatching(/client_id\}$/) },
              { name: "LEASE_ACCOUNT_URL", value: expect.stringMatching(/primary_blob_endpoint\}$/) },
              { name: "LEASE_CONTAINER", value: "leases" },
              { name: "ELECTION", value: "billing" },
              { name: "DRAIN_TIMEOUT_MS", value: "60500" },
              { name: "HEALTH_PORT", value: "8080" },
              { name: "COLOUR", value: "red" },
            ],
          },
        ],
      },
    });
  });

  test("is restarted when it no longer answers, and not because of the store", () => {
    expect(app).toMatchObject({
      template: { container: [{ liveness_probe: [{ transport: "HTTP", port: 8080, path: "/live" }] }] },
    });
  });

  test("pulls its image with an identity that may do so before the apply", () => {
    const other = emptyStack();
    const { workspaceId } = appIn(other, { name: "ab", registry: { server: "mine.azurecr.io", identityId: "/pull" } });
    const written = synthesized(other);
    const own = expect.stringMatching(/^\$\{azurerm_user_assigned_identity\.App_Identity_\w+\.id\}$/) as string;
    expect(written.of("azurerm_container_app")).toMatchObject([
      {
        name: "ab",
        container_app_environment_id: "/environment",
        identity: { identity_ids: [own, "/pull"] },
        registry: [{ server: "mine.azurecr.io", identity: "/pull" }],
      },
    ]);
    expect(written.of("azurerm_role_assignment")).toHaveLength(1);
    // Azure requires at least 3 characters for an identity's name.
    expect(written.of("azurerm_user_assigned_identity")).toMatchObject([{ name: "ab-identity" }]);
    expect(workspaceId).toBe("/workspace");
    expect(warningsOf(other)).toEqual([]);
  });

  test("warns of an image in a registry of Azure without the registry", () => {
    const other = emptyStack();
    appIn(other, { image: "acme.azurecr.io/billing:1" });
    expect(warningsOf(other)).toEqual([expect.stringContaining("registry is not set")]);
  });

  test("can run as an existing identity", () => {
    const other = emptyStack();
    appIn(other, { identity: { id: "/mine", clientId: "client", principalId: "principal" } });
    const written = synthesized(other);
    expect(written.of("azurerm_user_assigned_identity")).toEqual([]);
    expect(written.of("azurerm_role_assignment")).toMatchObject([{ principal_id: "principal" }]);
    expect(written.of("azurerm_container_app")).toMatchObject([{ identity: { identity_ids: ["/mine"] } }]);
  });

  test("warns of a single candidate", () => {
    const other = emptyStack();
    appIn(other, { candidates: 1 });
    expect(warningsOf(other)).toEqual([expect.stringContaining("nobody to take over")]);
  });

  test.each([
    ["no candidates", { candidates: 0 }, "candidates is 0"],
    ["half a candidate", { candidates: 1.5 }, "candidates is 1.5"],
    ["a name of one letter", { name: "a" }, "2 to 32 lower-case letters"],
    ["a name with two hyphens", { name: "a--b" }, "single hyphens"],
    ["no elections", { elections: [] }, "names no election"],
    ["a drain that Azure does not wait for", { drainTimeoutMs: 590_000 }, "600 s after which"],
    ["a drain that is none", { drainTimeoutMs: Number.NaN }, "drainTimeoutMs is NaN"],
    ["a variable of its own", { environment: { ELECTION: "other" } }, "environment sets ELECTION"],
  ])("refuses %s", (_, props, message) => {
    expect(() => appIn(emptyStack(), props)).toThrow(message);
  });
});
