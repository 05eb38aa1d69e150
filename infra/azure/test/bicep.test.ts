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
    readonly change_feed_enabled: boolean;
    readonly delete_retention_policy: { readonly days: number };
    readonly container_delete_retention_policy: { readonly days: number };
  };
}

interface Policy {
  readonly rule: { readonly filters: { readonly blob_types: readonly string[]; readonly prefix_match: readonly string[] } };
}

interface Role {
  readonly description: string;
  readonly permissions: { readonly data_actions: readonly string[] };
}

/** The names in Azure's resource manager of the settings of azurerm. */
const NAMES: Readonly<Record<string, string>> = {
  account_kind: "kind",
  min_tls_version: "minimumTlsVersion",
  https_traffic_only_enabled: "supportsHttpsTrafficOnly",
  shared_access_key_enabled: "allowSharedKeyAccess",
  default_to_oauth_authentication: "defaultToOAuthAuthentication",
  allow_nested_items_to_be_public: "allowBlobPublicAccess",
  cross_tenant_replication_enabled: "allowCrossTenantReplication",
  local_user_enabled: "isLocalUserEnabled",
  sftp_enabled: "isSftpEnabled",
  is_hns_enabled: "isHnsEnabled",
};

test("the Bicep file has every setting of the account that the module has, with the same value", () => {
  const account = module["azurerm_storage_account"]!["leases"] as unknown as Account;
  const { blob_properties: blobs, lifecycle: _, name, resource_group_name: __, location, ...settings } = account;
  expect([name, location]).toEqual(["${var.account_name}", "${var.resource_group.location}"]);
  const { account_tier: tier, account_replication_type: replication, ...simple } = settings;
  expect(bicep).toContain(`sku: { name: '${tier}_${replication}' }`);
  expect(Object.keys(simple).toSorted()).toEqual(Object.keys(NAMES).toSorted());
  for (const [setting, value] of Object.entries(simple)) {
    expect(bicep).toContain(
      `\n    ${NAMES[setting]}: ${String(value)}\n`
        .replace(/^\n {4}kind: (.*)$/m, "\n  kind: '$1'")
        .replace("TLS1_2", "'TLS1_2'"),
    );
  }
  const { versioning_enabled: versions, change_feed_enabled: feed, ...kept } = blobs;
  const { delete_retention_policy: blob, container_delete_retention_policy: container, ...more } = kept;
  expect(more).toEqual({});
  expect(bicep).toContain(`isVersioningEnabled: ${versions}\n`);
  expect(bicep).toContain(`changeFeed: { enabled: ${feed} }`);
  expect(bicep).toContain(`      deleteRetentionPolicy: { enabled: true, days: ${blob.days} }`);
  expect(bicep).toContain(`containerDeleteRetentionPolicy: { enabled: true, days: ${container.days} }`);
});

test("the Bicep file deletes nothing but occurrences, and its role is the construct's", () => {
  const { rule } = module["azurerm_storage_management_policy"]!["occurrences"] as unknown as Policy;
  expect(bicep).toContain(`blobTypes: ['${rule.filters.blob_types[0]}'], prefixMatch: ['\${containerName}/ticks/']`);
  expect(rule.filters.prefix_match).toEqual(["${var.container_name}/ticks/"]);
  const { description, permissions } = module["azurerm_role_definition"]!["candidate"] as unknown as Role;
  expect(bicep).toContain(`description: '${description}'`);
  expect(
    permissions.data_actions.map((action) => /var (\w+) = '/.exec(bicep.slice(bicep.indexOf(`= '${action}'`) - 12))?.[1]),
  ).toEqual(["read", "write"]);
  expect(bicep).toContain("permissions: [{ actions: [], dataActions: [read, write] }]");
});

test("a candidate's condition in the Bicep file is the construct's", () => {
  const stack = emptyStack();
  leasesIn(stack).grantCandidate({ principalId: "id" }, "billing", "nightly-report");
  const [{ condition } = {}] = synthesized(stack).of("azurerm_role_assignment");
  const [, lines = ""] = /for each in candidates: join\(\n {4}\[\n([^]*?)\n {4}\]/.exec(bicep) ?? [];
  const values = Object.fromEntries(
    [...bicep.matchAll(/^var (read|write|path) = '(.*)'$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
  const elections = ["billing", "nightly-report"];
  const evaluated = lines
    .split("\n")
    .map((line) => line.trim().slice(1, -1))
    .map((line) =>
      line.replace(/\$\{join\(map\(each\.elections, name => '(.*)'\), ', '\)\}/, (_, item: string) =>
        elections.map((name) => item.replaceAll("${name}", name)).join(", "),
      ),
    )
    .map((line) => line.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => values[name] ?? "").replaceAll("\\'", "'"));
  expect(evaluated.join("\n")).toBe(condition);
});
