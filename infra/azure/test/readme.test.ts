import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { written } from "./stack-settings.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const readme = await readFile(`${root}infra/azure/README.md`, "utf8");
const [, deployment = ""] = /## Deploy\n[^]*?```sh\n([^]*?)```/.exec(readme) ?? [];

interface Written {
  readonly variable: Readonly<Record<string, { readonly default?: string }>>;
}

/** The resource provider of each type; https://learn.microsoft.com/azure/azure-resource-manager/management/azure-services-resource-providers */
const NAMESPACES: Readonly<Record<string, string | undefined>> = {
  azapi_resource: "Web",
  azurerm_application_insights: "Insights",
  azurerm_container_app: "App",
  azurerm_monitor_scheduled_query_rules_alert_v2: "Insights",
  azurerm_service_plan: "Web",
  azurerm_storage_account: "Storage",
  azurerm_storage_container: "Storage",
  azurerm_storage_management_policy: "Storage",
  azurerm_user_assigned_identity: "ManagedIdentity",
};
/** Every subscription has these. */
const ALWAYS_THERE = ["azurerm_role_assignment", "azurerm_role_definition"];

describe("the steps of a deployment", () => {
  test("set exactly the variables of the stack that have no default", () => {
    const { variable } = JSON.parse(written.json) as Written;
    const needed = Object.keys(variable).filter((name) => variable[name]?.default === undefined);
    const given = [...deployment.matchAll(/\bTF_VAR_(\w+)=/g)].map(([, name = ""]) => name);
    expect(given.toSorted()).toEqual(needed.toSorted());
  });

  test("register the resource providers of the stack, of a registry and of a workspace", () => {
    const types = Object.keys(written.resources).filter((type) => !ALWAYS_THERE.includes(type));
    const needed = new Set(types.map((type) => NAMESPACES[type] ?? `the namespace of ${type}, which this test does not know`));
    const [, registered = ""] = /for name in (.*); do/.exec(deployment) ?? [];
    expect(registered.split(" ")).toEqual([...needed, "ContainerRegistry", "OperationalInsights"].toSorted());
  });

  test("give the right to pull before the image is built, which takes longer than Azure needs to know it", () => {
    const [right, build] = ["--role AcrPull", "az acr build"].map((step) => deployment.indexOf(step));
    expect(right).toBeGreaterThan(0);
    expect(build).toBeGreaterThan(right!);
  });

  test("publish a function app without the compiler", () => {
    expect(deployment).toMatch(/npm run build && npm prune --omit=dev\n/);
    // The language is in a local.settings.json, which a clone has not. Without a language the command refuses.
    expect(deployment.indexOf("npm prune")).toBeLessThan(deployment.search(/^func azure functionapp publish \S+ --node\b/m));
  });

  test("name folders that exist", () => {
    const folders = [...deployment.matchAll(/(?:infra|examples)\/[\w-]+/g)].map(([folder]) => folder);
    expect(folders.length).toBeGreaterThan(0);
    expect(folders.filter((folder) => !existsSync(root + folder))).toEqual([]);
  });
});
