import type { InvocationContext, Timer } from "@azure/functions";
import { MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeader } from "@leasehold/functions/azure-functions";
import { warningsOf } from "@leasehold/test-kit/terrain";
import type { TerraformStack } from "cdktn";
import { describe, expect, test, vi } from "vitest";
import { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "@leasehold/infra-azure";
import { emptyStack, GROUP, leasesIn, synthesized, type Synthesized } from "./synthesized.ts";

function functionIn(stack: TerraformStack, props: Partial<LeaderScheduledFunctionProps> = {}): LeaderScheduledFunction {
  const leases = leasesIn(stack);
  return new LeaderScheduledFunction(stack, "Report", {
    leases,
    elections: ["nightly-report"],
    resourceGroup: GROUP,
    name: "nightly-report",
    hostAccountName: "hostaccount",
    schedule: "0 0 3 * * *",
    workspaceId: "/workspace",
    ...props,
  });
}

/** Returns the body that Azure's resource manager gets for the only app of a stack. */
function bodyIn({ of }: Synthesized): {
  readonly siteConfig: { readonly appSettings: readonly { readonly name: string; readonly value: string }[] };
  readonly functionAppConfig: { readonly deployment: { readonly storage: object } };
} {
  const [app] = of("azapi_resource");
  return (app as { readonly body: { readonly properties: ReturnType<typeof bodyIn> } }).body.properties;
}

function settingsIn(written: Synthesized): Record<string, string> {
  return Object.fromEntries(bodyIn(written).siteConfig.appSettings.map(({ name, value }) => [name, value]));
}

describe("a scheduled function", () => {
  const stack = emptyStack();
  functionIn(stack, { timeoutMs: 3_723_000, environment: { COLOUR: "red" } });
  const written = synthesized(stack);
  const [app] = written.of("azapi_resource");

  test("has its schedule, its timeout and its leases as settings", () => {
    expect(settingsIn(written)).toMatchObject({
      LEADER_SCHEDULE: "0 0 3 * * *",
      AzureFunctionsJobHost__functionTimeout: "01:02:03",
      AZURE_CLIENT_ID: expect.stringMatching(/^\$\{azurerm_user_assigned_identity\.Report_Identity_\w+\.client_id\}$/),
      LEASE_CONTAINER: "leases",
      LEASE_ACCOUNT_URL: expect.stringMatching(/^\$\{azurerm_storage_account\.Leases_/),
      ELECTION: "nightly-report",
      COLOUR: "red",
    });
  });

  test("uses its identity for the platform's storage, and has no connection string that the platform would prefer", () => {
    expect(written.of("azurerm_function_app_flex_consumption")).toEqual([]);
    const settings = settingsIn(written);
    expect(Object.keys(settings).filter((name) => name.startsWith("AzureWebJobsStorage"))).toEqual([
      "AzureWebJobsStorage__accountName",
      "AzureWebJobsStorage__credential",
      "AzureWebJobsStorage__clientId",
    ]);
    expect(settings).toMatchObject({
      AzureWebJobsStorage__accountName: expect.stringMatching(/^\$\{azurerm_storage_account\.Report_Host_/),
      AzureWebJobsStorage__credential: "managedidentity",
      AzureWebJobsStorage__clientId: settings["AZURE_CLIENT_ID"],
    });
    expect(JSON.stringify(Object.values(settings))).not.toMatch(/AccountKey|access_key/i);
    expect(bodyIn(written).functionAppConfig.deployment.storage).toEqual({
      type: "blobContainer",
      value: expect.stringMatching(
        // Terraform makes the app after the container of its code, because the address refers to it.
        /^\$\{azurerm_storage_account\.Report_Host_Account_\w+\.primary_blob_endpoint\}\$\{azurerm_storage_container\.Report_Host_Container_\w+\.name\}$/,
      ),
      authentication: {
        type: "UserAssignedIdentity",
        userAssignedIdentityResourceId: expect.stringMatching(/^\$\{azurerm_user_assigned_identity\.Report_Identity_\w+\.id\}$/),
      },
    });
  });

  test("sends telemetry to Application Insights, as its identity", () => {
    expect(settingsIn(written)).toMatchObject({
      APPLICATIONINSIGHTS_CONNECTION_STRING: expect.stringMatching(
        /^\$\{azurerm_application_insights\.\w+\.connection_string\}$/,
      ),
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: expect.stringMatching(/^ClientId=\$\{.*client_id\};Authorization=AAD$/),
    });
    expect(written.of("azurerm_application_insights")).toMatchObject([{ local_authentication_disabled: true }]);
  });

  test("may do everything in its platform's storage, send telemetry and compete, and nothing else", () => {
    const assignments = written.of("azurerm_role_assignment");
    const rights = assignments.map((each) => `${each["role_definition_name"] ?? each["role_definition_id"]} in ${each["scope"]}`);
    expect(rights.toSorted((one, other) => one.localeCompare(other))).toEqual([
      expect.stringMatching(/azurerm_role_definition\.Leases_CandidateRole.* in \$\{azurerm_storage_container\.Leases_Container/),
      expect.stringMatching(/^Monitoring Metrics Publisher in \$\{azurerm_application_insights\./),
      expect.stringMatching(/^Storage Blob Data Owner in \$\{azurerm_storage_account\.Report_Host_Account_\w+\.id\}$/),
    ]);
    expect(written.of("azurerm_storage_account")).toMatchObject([
      { shared_access_key_enabled: false },
      { shared_access_key_enabled: false },
    ]);
  });

  test("depends on the rights that it needs", () => {
    expect(app?.["depends_on"]).toEqual([
      expect.stringMatching(/^azurerm_role_assignment\.Leases_Candidate/),
      expect.stringMatching(/^azurerm_role_assignment\.Report_Host_Owner/),
      expect.stringMatching(/^azurerm_role_assignment\.Report_Telemetry_Publisher/),
    ]);
    expect(warningsOf(stack)).toEqual([]);
  });

  test.each([60_000, 300_000, 600_000, 3_600_000])(
    "of %d ms is retried for longer than the claim of a dead invocation",
    async (timeoutMs) => {
      const other = emptyStack();
      functionIn(other, { timeoutMs });
      const { LEADER_RETRIES, LEADER_RETRY_DELAY_MS, AzureFunctionsJobHost__functionTimeout } = settingsIn(synthesized(other));
      vi.stubEnv("AzureFunctionsJobHost__functionTimeout", AzureFunctionsJobHost__functionTimeout);
      using _ = { [Symbol.dispose]: () => void vi.unstubAllEnvs() };

      const store = new MemoryLeaseStore();
      using acquire = vi.spyOn(store, "acquire");
      const handler = onlyAsLeader({ store, election: "nightly-report" }, () => undefined);
      await handler({ isPastDue: false } as Timer, { functionName: "report", invocationId: "1" } as InvocationContext);

      const claimMs = acquire.mock.calls[0]?.[0].leaseDurationMs ?? Number.NaN;
      expect(claimMs).toBeGreaterThan(timeoutMs);
      expect(Number(LEADER_RETRIES) * Number(LEADER_RETRY_DELAY_MS)).toBeGreaterThan(claimMs);
    },
  );

  test("makes names that are long enough", () => {
    const other = emptyStack();
    functionIn(other, { name: "ab" });
    const { of } = synthesized(other);
    expect(of("azurerm_user_assigned_identity")).toMatchObject([{ name: "ab-identity" }]);
    expect(of("azurerm_application_insights")).toMatchObject([{ workspace_id: "/workspace" }]);
  });

  test.each([
    ["five fields", { schedule: "0 3 * * *" }, "six fields"],
    ["a name of one letter", { name: "a" }, "2 to 32 letters"],
    ["a timeout of no whole seconds", { timeoutMs: 1_500 }, "whole seconds"],
    ["a timeout of a day", { timeoutMs: 86_400_000 }, "to 86399000"],
    ["no elections", { elections: [] }, "names no election"],
    ["the leases' account as its platform's", { hostAccountName: "leaseaccount" }, "begins again at term 1"],
    ["an account's name with a hyphen", { hostAccountName: "host-account" }, "hostAccountName"],
    ["a setting of its own", { environment: { LEASE_CONTAINER: "others" } }, "environment sets LEASE_CONTAINER"],
  ])("refuses %s", (_, props, message) => {
    expect(() => functionIn(emptyStack(), props)).toThrow(message);
  });
});
