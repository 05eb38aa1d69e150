import { ProviderResource } from "@leasehold/infra-terrain";
import type { ManagedIdentityArguments } from "./access.ts";
import type { Placed } from "./resource-group.ts";

export interface ContainerAppEnvironmentArguments extends Placed {
  readonly logs_destination: "log-analytics";
  readonly log_analytics_workspace_id: string;
}

export class ContainerAppEnvironment extends ProviderResource<ContainerAppEnvironmentArguments> {
  static override readonly terraformType: string = "azurerm_container_app_environment";
}

export interface ContainerAppArguments extends ContainerArguments {
  readonly name: string;
  readonly resource_group_name: string;
  readonly revision_mode: "Single";
  readonly template: {
    readonly min_replicas: number;
    readonly max_replicas: number;
    readonly termination_grace_period_seconds: number;
    readonly container: readonly ContainerBlock[];
  };
}

export class ContainerApp extends ProviderResource<ContainerAppArguments> {
  static override readonly terraformType: string = "azurerm_container_app";
}

export interface ContainerAppJobArguments extends Placed, ContainerArguments {
  readonly replica_timeout_in_seconds: number;
  readonly replica_retry_limit: number;
  readonly schedule_trigger_config: {
    readonly cron_expression: string;
    readonly parallelism: 1;
    readonly replica_completion_count: 1;
  };
  readonly template: { readonly container: readonly ContainerBlock[] };
}

export class ContainerAppJob extends ProviderResource<ContainerAppJobArguments> {
  static override readonly terraformType: string = "azurerm_container_app_job";
}

/** The arguments that an app and a job have in common. */
export interface ContainerArguments {
  readonly container_app_environment_id: string;
  readonly identity: ManagedIdentityArguments;
  readonly registry?: readonly { readonly server: string; readonly identity: string }[];
}

export interface ContainerBlock {
  readonly name: string;
  readonly image: string;
  readonly cpu: number;
  readonly memory: string;
  readonly command?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}
