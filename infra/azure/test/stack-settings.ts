import { Testing } from "cdktn";
import { LeaseholdStack } from "../bin/leasehold-stack.ts";
import { synthesized, type Synthesized } from "./synthesized.ts";

/** The app's stack, and its synthesized form. */
export const stack: LeaseholdStack = new LeaseholdStack(Testing.app(), "leasehold");
export const written: Synthesized = synthesized(stack);

/** A program's environment variables. Values may refer to resources that are not deployed yet. */
export type Settings = Readonly<Record<string, string>>;

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

/** Returns the settings of the stack's program of this type. */
export function settingsOf(type: "azurerm_container_app" | "azapi_resource"): Settings {
  if (type === "azurerm_container_app") {
    const [app] = written.of(type) as { template: { container: [Container] } }[];
    return byName(app!.template.container[0].env);
  }
  const [app] = written.of(type) as { body: { properties: { siteConfig: { appSettings: Container["env"] } } } }[];
  return byName(app!.body.properties.siteConfig.appSettings);
}

function byName(settings: Container["env"]): Settings {
  return Object.fromEntries(settings.map(({ name, value }) => [name, value]));
}

/** The identities' names in the settings, before the identities exist. */
export const clientIds: readonly string[] = Object.keys(written.resources["azurerm_user_assigned_identity"] ?? {}).map(
  (id) => `azurerm_user_assigned_identity.${id}.client_id`,
);

/** Returns the settings of a deployment. Each reference becomes the resource's value, or the expression itself. */
export function deployed(settings: Settings, accountUrl: string): Record<string, string> {
  const value = (text: string): string =>
    text.replace(/\$\{([^}]+)\}/g, (_, expression: string) =>
      /^azurerm_storage_account\.Leases_.*primary_blob_endpoint$/.test(expression) ? accountUrl : expression,
    );
  return Object.fromEntries(Object.entries(settings).map(([name, text]) => [name, value(text)]));
}
