import { Construct } from "constructs";
import { ContainerAppEnvironment } from "./azurerm/container-apps.ts";
import { LogAnalyticsWorkspace } from "./azurerm/monitoring.ts";
import type { ResourceGroupReference } from "./lease-container.ts";

/** An environment for container apps and jobs: a construct of this package, or the ids of an existing one. */
export interface ContainerEnvironmentReference {
  readonly id: string;
  /** The workspace of its logs. Alert rules query it. */
  readonly workspaceId: string;
}

export interface ContainerEnvironmentProps {
  readonly resourceGroup: ResourceGroupReference;
  /** 2 to 32 lower-case letters, digits and hyphens. */
  readonly name: string;
}

const LOG_DAYS = 30;

/** An environment for container apps and jobs, and a workspace that keeps their logs for 30 days. Several can share one. */
export class ContainerEnvironment extends Construct implements ContainerEnvironmentReference {
  readonly workspaceId: string;
  readonly #environment: ContainerAppEnvironment;

  constructor(scope: Construct, id: string, { resourceGroup, name }: ContainerEnvironmentProps) {
    super(scope, id);
    const place = { resource_group_name: resourceGroup.name, location: resourceGroup.location };
    this.workspaceId = logWorkspace(this, name, resourceGroup).id;
    this.#environment = new ContainerAppEnvironment(this, "Environment", {
      ...place,
      name: `${name}-environment`,
      logs_destination: "log-analytics",
      log_analytics_workspace_id: this.workspaceId,
    });
  }

  get id(): string {
    return this.#environment.id;
  }
}

/** Makes a workspace for logs. Its name has at least the 4 characters that Azure requires, even if the app's name has 2. */
export function logWorkspace(scope: Construct, name: string, resourceGroup: ResourceGroupReference): LogAnalyticsWorkspace {
  return new LogAnalyticsWorkspace(scope, "Logs", {
    name: `${name}-logs`,
    resource_group_name: resourceGroup.name,
    location: resourceGroup.location,
    sku: "PerGB2018",
    retention_in_days: LOG_DAYS,
  });
}
