import { TerraformVariable } from "cdktn";
import { warningsOf } from "@leasehold/test-kit/terrain";
import { describe, expect, test } from "vitest";
import { emptyStack, GROUP, leasesIn, synthesized } from "./synthesized.ts";

describe("a lease container", () => {
  test("is in an account that accepts no keys, makes nothing public, and survives the loss of a zone", () => {
    const stack = emptyStack();
    leasesIn(stack);
    expect(synthesized(stack).of("azurerm_storage_account")).toMatchObject([
      {
        account_replication_type: "ZRS",
        min_tls_version: "TLS1_2",
        shared_access_key_enabled: false,
        allow_nested_items_to_be_public: false,
        local_user_enabled: false,
      },
    ]);
    expect(synthesized(stack).of("azurerm_storage_container")).toMatchObject([{ name: "leases" }]);
  });

  test("can be made by an owner of the subscription without rights to its data", () => {
    const stack = emptyStack();
    leasesIn(stack);
    const { provider } = JSON.parse(synthesized(stack).json) as { provider: { azurerm: object[] } };
    expect(provider.azurerm).toEqual([{ features: { storage: { data_plane_available: false } }, storage_use_azuread: true }]);
  });

  test("keeps no versions of a lease, and deleted blobs for a week", () => {
    const stack = emptyStack();
    leasesIn(stack);
    expect(synthesized(stack).of("azurerm_storage_account")).toMatchObject([
      {
        blob_properties: {
          versioning_enabled: false,
          delete_retention_policy: { days: 7 },
          container_delete_retention_policy: { days: 7 },
        },
      },
    ]);
  });

  test("is protected from destroy, without a warning", () => {
    const stack = emptyStack();
    leasesIn(stack);
    const { of } = synthesized(stack);
    for (const type of ["azurerm_storage_account", "azurerm_storage_container"]) {
      expect(of(type)).toMatchObject([{ lifecycle: { prevent_destroy: true } }]);
    }
    expect(warningsOf(stack)).toEqual([]);
  });

  test("has no lifecycle rule", () => {
    const stack = emptyStack();
    leasesIn(stack);
    expect(synthesized(stack).of("azurerm_storage_management_policy")).toEqual([]);
  });

  test("deletes occurrences if asked, and never a lease", () => {
    const stack = emptyStack();
    leasesIn(stack, { containerName: "elections", deleteOccurrencesAfterDays: 8 });
    const [policy] = synthesized(stack).of("azurerm_storage_management_policy");
    expect(policy?.["rule"]).toEqual([
      {
        name: "leasehold-ticks",
        enabled: true,
        filters: { blob_types: ["blockBlob"], prefix_match: ["elections/ticks/"] },
        actions: { base_blob: { delete_after_days_since_modification_greater_than: 8 } },
      },
    ]);
  });

  test.each([
    ["a name with capitals", { accountName: "Leases" }, "accountName"],
    ["a name that is too long", { accountName: "a".repeat(25) }, "accountName"],
    ["a container's name with two hyphens", { containerName: "a--b" }, "containerName"],
    ["no days", { deleteOccurrencesAfterDays: 0 }, "deleteOccurrencesAfterDays is 0"],
    ["half a day", { deleteOccurrencesAfterDays: 0.5 }, "deleteOccurrencesAfterDays is 0.5"],
  ])("refuses %s", (_, props, message) => {
    expect(() => leasesIn(emptyStack(), props)).toThrow(message);
  });

  test("accepts names that are not known at synthesis", () => {
    const stack = emptyStack();
    const name = new TerraformVariable(stack, "account", { type: "string" }).stringValue;
    leasesIn(stack, { accountName: name });
    expect(synthesized(stack).of("azurerm_storage_account")).toMatchObject([{ name: "${var.account}" }]);
  });
});

describe("grants", () => {
  test("are only for the container, by a role of this package", () => {
    const stack = emptyStack();
    leasesIn(stack).grantCandidate({ principalId: "candidate" }, "billing");
    const { of } = synthesized(stack);
    expect(of("azurerm_role_assignment")).toMatchObject([
      {
        principal_id: "candidate",
        principal_type: "ServicePrincipal",
        scope: expect.stringMatching(/^\$\{azurerm_storage_container\.\w+\.id\}$/),
        role_definition_id: expect.stringMatching(/^\$\{azurerm_role_definition\.\w+\.role_definition_resource_id\}$/),
        condition_version: "2.0",
      },
    ]);
    expect(of("azurerm_role_definition")).toMatchObject([{ scope: GROUP.id, assignable_scopes: [GROUP.id] }]);
  });

  test("share a role for all grantees", () => {
    const stack = emptyStack();
    const leases = leasesIn(stack);
    leases.grantCandidate({ principalId: "a11ce" }, "billing");
    leases.grantCandidate({ principalId: "b0b" }, "billing");
    leases.grantAdministrator({ principalId: "admins", principalType: "Group" });
    const { of } = synthesized(stack);
    expect(of("azurerm_role_definition").map((role) => String(role["name"]))).toEqual([
      "Leasehold Administrator (leaseaccount)",
      "Leasehold Candidate (leaseaccount)",
    ]);
    expect(
      of("azurerm_role_assignment")
        .map((assignment) => String(assignment["principal_type"]))
        .toSorted(),
    ).toEqual(["Group", "ServicePrincipal", "ServicePrincipal"]);
  });

  test("need an election", () => {
    const leases = leasesIn(emptyStack());
    expect(() => leases.grantCandidate({ principalId: "a" })).toThrow("grantCandidate names no election");
    expect(() => leases.grantObserver({ principalId: "a" })).toThrow("grantObserver names no election");
  });

  test("need the names of elections at synthesis", () => {
    const stack = emptyStack();
    const name = new TerraformVariable(stack, "election", { type: "string" }).stringValue;
    expect(() => leasesIn(stack).grantCandidate({ principalId: "a" }, name)).toThrow("not known when this is synthesized");
  });

  test("are limited to one for each identity", () => {
    const leases = leasesIn(emptyStack());
    leases.grantCandidate({ principalId: "a" }, "billing");
    leases.grantObserver({ principalId: "a" }, "report");
    expect(() => leases.grantCandidate({ principalId: "a" }, "report")).toThrow("Name all elections in one call");
  });

  test("accept a limited number of elections", () => {
    const leases = leasesIn(emptyStack());
    const elections = Array.from({ length: 400 }, (_, index) => `election-${index}`);
    leases.grantCandidate({ principalId: "a" }, ...elections.slice(0, 100));
    expect(() => leases.grantCandidate({ principalId: "b" }, ...elections)).toThrow("Give them to more than one identity");
  });
});
