import { Construct } from "constructs";
import { RoleAssignment, type ManagedIdentity } from "./azurerm/access.ts";
import { ApplicationInsights } from "./azurerm/monitoring.ts";
import type { ResourceGroupReference } from "./lease-container.ts";

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
  readonly publisher: RoleAssignment;
  readonly #insights: ApplicationInsights;
  readonly #identity: ManagedIdentity;

  constructor(scope: Construct, id: string, { resourceGroup, name, identity, workspaceId }: FunctionTelemetryProps) {
    super(scope, id);
    this.#identity = identity;
    this.#insights = new ApplicationInsights(this, "Insights", {
      name: `${name}-insights`,
      resource_group_name: resourceGroup.name,
      location: resourceGroup.location,
      application_type: "web",
      workspace_id: workspaceId,
      local_authentication_disabled: true,
    });
    // https://learn.microsoft.com/azure/azure-monitor/app/azure-ad-authentication
    this.publisher = new RoleAssignment(this, "Publisher", {
      scope: this.#insights.id,
      principal_id: identity.principalId,
      principal_type: "ServicePrincipal",
      role_definition_name: "Monitoring Metrics Publisher",
    });
  }

  get settings(): Record<string, string> {
    return {
      APPLICATIONINSIGHTS_CONNECTION_STRING: this.#insights.connectionString,
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: `ClientId=${this.#identity.clientId};Authorization=AAD`,
    };
  }
}
