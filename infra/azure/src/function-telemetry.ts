import { Construct } from "constructs";
import { assignRole, type ManagedIdentity } from "./access.ts";
import type { ResourceGroupReference } from "./lease-container.ts";
import { ProviderResource } from "./terraform.ts";

export interface FunctionTelemetryProps {
  readonly resourceGroup: ResourceGroupReference;
  readonly name: string;
  /** The identity that the app runs as. */
  readonly identity: ManagedIdentity;
  /** The workspace of Log Analytics. */
  readonly workspaceId: string;
}

/** Application Insights for a function app, which sends its telemetry as its identity. */
export class FunctionTelemetry extends Construct {
  /** The assignment that lets the identity send telemetry. */
  readonly publisher: ProviderResource;
  readonly #insights: ProviderResource;
  readonly #identity: ManagedIdentity;

  constructor(scope: Construct, id: string, { resourceGroup, name, identity, workspaceId }: FunctionTelemetryProps) {
    super(scope, id);
    this.#identity = identity;
    this.#insights = new ProviderResource(this, "Insights", "azurerm_application_insights", {
      name: `${name}-insights`,
      resource_group_name: resourceGroup.name,
      location: resourceGroup.location,
      application_type: "web",
      workspace_id: workspaceId,
      // Only identities with the right may send telemetry. The connection string alone is not enough.
      local_authentication_disabled: true,
    });
    // https://learn.microsoft.com/azure/azure-monitor/app/azure-ad-authentication
    this.publisher = assignRole(this, "Publisher", "Monitoring Metrics Publisher", this.#insights.id, identity);
  }

  get settings(): Record<string, string> {
    return {
      APPLICATIONINSIGHTS_CONNECTION_STRING: this.#insights.attribute("connection_string"),
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: `ClientId=${this.#identity.clientId};Authorization=AAD`,
    };
  }
}
