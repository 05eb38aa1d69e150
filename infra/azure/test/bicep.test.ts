import { readFile } from "node:fs/promises";
import { resourcesOfHcl } from "@leasehold/test-kit/terrain";
import { expect, test } from "vitest";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

const bicep = await readFile(new URL("../leases.bicep", import.meta.url), "utf8");
const module = resourcesOfHcl(await readFile(new URL("../terraform/main.tf", import.meta.url), "utf8"));

interface Account {
  readonly name: string;
  readonly resource_group_name: string;
  readonly location: string;
  readonly account_tier: string;
  readonly account_replication_type: string;
  readonly lifecycle: object;
  readonly blob_properties: {
    readonly versioning_enabled: boolean;
    readonly delete_retention_policy: { readonly days: number };
    readonly container_delete_retention_policy: { readonly days: number };
  };
}

interface Role {
  readonly description: string;
  readonly permissions: { readonly data_actions: readonly string[] };
}

/** The names in Azure's resource manager of the settings of azurerm. */
const NAMES: Readonly<Record<string, string>> = {
  min_tls_version: "minimumTlsVersion",
  shared_access_key_enabled: "allowSharedKeyAccess",
  allow_nested_items_to_be_public: "allowBlobPublicAccess",
  local_user_enabled: "isLocalUserEnabled",
};

test("the Bicep file has every setting of the account that the module has, with the same value", () => {
  const account = module["azurerm_storage_account"]!["leases"] as unknown as Account;
  const { blob_properties: blobs, lifecycle: _, name, resource_group_name: __, location, ...settings } = account;
  expect([name, location]).toEqual(["${var.account_name}", "${var.resource_group.location}"]);
  const { account_tier: tier, account_replication_type: replication, ...simple } = settings;
  expect(bicep).toContain(`sku: { name: '${tier}_${replication}' }`);
  expect(Object.keys(simple).toSorted()).toEqual(Object.keys(NAMES).toSorted());
  for (const [setting, value] of Object.entries(simple)) {
    expect(bicep).toContain(`\n    ${NAMES[setting]}: ${String(value)}\n`.replace("TLS1_2", "'TLS1_2'"));
  }
  const { versioning_enabled: versions, ...kept } = blobs;
  const { delete_retention_policy: blob, container_delete_retention_policy: container, ...more } = kept;
  expect(more).toEqual({});
  expect(bicep).toContain(`isVersioningEnabled: ${versions}\n`);
  expect(bicep).toContain(`      deleteRetentionPolicy: { enabled: true, days: ${blob.days} }`);
  expect(bicep).toContain(`containerDeleteRetentionPolicy: { enabled: true, days: ${container.days} }`);
});

test("the container of the Bicep file is the module's, and its role is the construct's", () => {
  expect(bicep).toContain(
    `resource leases 'containers' = { name: '${String(module["azurerm_storage_container"]!["leases"]!["name"])}' }`,
  );
  const { description, permissions } = module["azurerm_role_definition"]!["candidate"] as unknown as Role;
  expect(bicep).toContain(`description: '${description}'`);
  const actions = permissions.data_actions.map((action) => `'${action.replace("local.", "")}'`);
  expect(bicep).toContain(`permissions: [{ actions: [], dataActions: [${actions.join(", ")}] }]`);
});

test("a candidate's condition in the Bicep file is the construct's", () => {
  const stack = emptyStack();
  leasesIn(stack).grantCandidate({ principalId: "id" }, "billing", "nightly-report");
  const [{ condition } = {}] = synthesized(stack).of("azurerm_role_assignment");
  const [, lines = ""] = /for each in candidates: join\(\n {4}\[\n([^]*?)\n {4}\]/.exec(bicep) ?? [];
  const [blobs = "", path = ""] = ["blobs", "path"].map((name) => new RegExp(`^var ${name} = '(.*)'$`, "m").exec(bicep)?.[1]);
  const elections = ["billing", "nightly-report"];
  const evaluated = lines
    .split("\n")
    .map((line) => line.trim().slice(1, -1))
    .map((line) =>
      line.replace(/\$\{join\(map\(each\.elections, name => '(.*)'\), ', '\)\}/, (_, item: string) =>
        elections.map((name) => item.replaceAll("${name}", name)).join(", "),
      ),
    )
    .map((line) => line.replaceAll("${path}", path).replaceAll("${blobs}", blobs).replaceAll("\\'", "'"));
  expect(evaluated.join("")).toBe(condition);
});
