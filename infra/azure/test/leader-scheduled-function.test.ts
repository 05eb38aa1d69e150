import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "@leasehold/infra-azure";
import { emptyStack, GROUP, leasesIn, synthesized } from "./synthesized.ts";

function functionIn(stack: TerraformStack, props: Partial<LeaderScheduledFunctionProps> = {}): LeaderScheduledFunction {
  const leases = leasesIn(stack);
  return new LeaderScheduledFunction(stack, "Report", {
    leases,
    elections: ["nightly-report"],
    resourceGroup: GROUP,
    name: "nightly-report",
    hostAccountName: "hostaccount",
    schedule: "0 0 3 * * *",
    ...props,
  });
}

describe("a scheduled function", () => {
  test("has its schedule, its timeout and its leases as settings", () => {
    const stack = emptyStack();
    functionIn(stack, { timeoutMs: 3_723_000, environment: { COLOUR: "red" } });
    const [app] = synthesized(stack).of("azurerm_function_app_flex_consumption");
    expect(app?.["app_settings"]).toMatchObject({
      LEADER_SCHEDULE: "0 0 3 * * *",
      AzureFunctionsJobHost__functionTimeout: "01:02:03",
      LEASE_CONTAINER: "leases",
      LEASE_ACCOUNT_URL: expect.stringMatching(/^\$\{azurerm_storage_account\.Leases_/),
      COLOUR: "red",
    });
  });

  test("has its platform's storage elsewhere, and may delete there alone", () => {
    const stack = emptyStack();
    functionIn(stack);
    const { of } = synthesized(stack);
    const [app] = of("azurerm_function_app_flex_consumption");
    expect(app).toMatchObject({
      storage_authentication_type: "UserAssignedIdentity",
      storage_container_endpoint: expect.stringMatching(
        /^\$\{azurerm_storage_account\.Report_HostAccount_\w+\.primary_blob_endpoint\}code$/,
      ),
      app_settings: {
        AzureWebJobsStorage__accountName: expect.stringMatching(/^\$\{azurerm_storage_account\.Report_HostAccount_/),
      },
    });
    const builtIn = of("azurerm_role_assignment").filter((assignment) => assignment["role_definition_name"] !== undefined);
    expect(builtIn).toMatchObject([
      {
        role_definition_name: "Storage Blob Data Owner",
        scope: expect.stringMatching(/^\$\{azurerm_storage_account\.Report_HostAccount_\w+\.id\}$/),
      },
    ]);
    expect(of("azurerm_storage_account")).toMatchObject([
      { shared_access_key_enabled: false },
      { shared_access_key_enabled: false },
    ]);
  });

  test("comes after the grants that it needs", () => {
    const stack = emptyStack();
    functionIn(stack, { zipFile: "report.zip" });
    expect(synthesized(stack).of("azurerm_function_app_flex_consumption")).toMatchObject([
      {
        zip_deploy_file: "report.zip",
        depends_on: [
          expect.stringMatching(/^azurerm_role_assignment\.Leases_Candidate/),
          expect.stringMatching(/^azurerm_role_assignment\.Report_HostOwner/),
        ],
      },
    ]);
  });

  test.each([
    ["five fields", { schedule: "0 3 * * *" }, "six fields"],
    ["a timeout of no whole seconds", { timeoutMs: 1_500 }, "whole seconds"],
    ["a timeout of a day", { timeoutMs: 86_400_000 }, "to 86399000"],
    ["no elections", { elections: [] }, "names no election"],
    ["the leases' account as its platform's", { hostAccountName: "leaseaccount" }, "begins again at term 1"],
    ["an account's name with a hyphen", { hostAccountName: "host-account" }, "hostAccountName"],
  ])("refuses %s", (_, props, message) => {
    expect(() => functionIn(emptyStack(), props)).toThrow(message);
  });
});
