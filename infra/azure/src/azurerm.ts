import { ProviderResource, ResourceProvider } from "@leasehold/infra-terrain";

/** The arguments that are used here, by the provider's own names: https://registry.terraform.io/providers/hashicorp/azurerm/4.73.0/docs */
export interface AzurermProviderArguments {
  readonly features: Record<string, never>;
  /** Asks the storage service with Entra ID, since the account takes no keys. */
  readonly storage_use_azuread?: boolean;
  readonly subscription_id?: string;
}

export class AzurermProvider extends ResourceProvider<AzurermProviderArguments> {
  static override readonly providerName: string = "azurerm";
  static override readonly versionConstraint: string = "~> 4.73";
}

/** What is in a resource group. */
interface Placed {
  readonly name: string;
  readonly resource_group_name: string;
  readonly location: string;
}

export interface ResourceGroupArguments {
  readonly name: string;
  readonly location: string;
}

export class ResourceGroup extends ProviderResource<ResourceGroupArguments> {
  static override readonly terraformType: string = "azurerm_resource_group";

  get name(): string {
    return this.getStringAttribute("name");
  }

  get location(): string {
    return this.getStringAttribute("location");
  }
}

export interface StorageAccountArguments extends Placed {
  readonly account_tier: "Standard";
  readonly account_replication_type: string;
  readonly account_kind: "StorageV2";
  readonly min_tls_version: "TLS1_2";
  readonly https_traffic_only_enabled: true;
  readonly shared_access_key_enabled: false;
  readonly default_to_oauth_authentication: true;
  readonly allow_nested_items_to_be_public: false;
  readonly cross_tenant_replication_enabled: false;
  readonly local_user_enabled: false;
  readonly sftp_enabled?: false;
  readonly is_hns_enabled?: false;
  readonly blob_properties?: {
    readonly versioning_enabled: boolean;
    readonly change_feed_enabled: boolean;
    readonly delete_retention_policy?: { readonly days: number };
    readonly container_delete_retention_policy?: { readonly days: number };
  };
}

export class StorageAccount extends ProviderResource<StorageAccountArguments> {
  static override readonly terraformType: string = "azurerm_storage_account";

  get name(): string {
    return this.getStringAttribute("name");
  }

  /** `https://<account>.blob.core.windows.net/` */
  get primaryBlobEndpoint(): string {
    return this.getStringAttribute("primary_blob_endpoint");
  }
}

export interface StorageContainerArguments {
  readonly name: string;
  readonly storage_account_id: string;
  readonly container_access_type: "private";
}

export class StorageContainer extends ProviderResource<StorageContainerArguments> {
  static override readonly terraformType: string = "azurerm_storage_container";
}

export interface StorageManagementPolicyArguments {
  readonly storage_account_id: string;
  readonly rule: readonly {
    readonly name: string;
    readonly enabled: boolean;
    readonly filters: { readonly blob_types: readonly string[]; readonly prefix_match: readonly string[] };
    readonly actions: { readonly base_blob: { readonly delete_after_days_since_modification_greater_than: number } };
  }[];
}

export class StorageManagementPolicy extends ProviderResource<StorageManagementPolicyArguments> {
  static override readonly terraformType: string = "azurerm_storage_management_policy";
}

export interface RoleDefinitionArguments {
  readonly name: string;
  readonly scope: string;
  readonly description: string;
  readonly assignable_scopes: readonly string[];
  readonly permissions: readonly { readonly actions: readonly string[]; readonly data_actions: readonly string[] }[];
}

export class RoleDefinition extends ProviderResource<RoleDefinitionArguments> {
  static override readonly terraformType: string = "azurerm_role_definition";

  /** The identifier that an assignment takes; `id` is Terraform's own. */
  get roleDefinitionResourceId(): string {
    return this.getStringAttribute("role_definition_resource_id");
  }
}

export interface RoleAssignmentArguments {
  readonly scope: string;
  readonly principal_id: string;
  readonly principal_type: PrincipalType;
  readonly role_definition_id?: string;
  readonly role_definition_name?: string;
  readonly description?: string;
  readonly condition?: string;
  readonly condition_version?: "2.0";
}

export type PrincipalType = "ServicePrincipal" | "User" | "Group";

export class RoleAssignment extends ProviderResource<RoleAssignmentArguments> {
  static override readonly terraformType: string = "azurerm_role_assignment";
}

export type UserAssignedIdentityArguments = Placed;

export class UserAssignedIdentity extends ProviderResource<UserAssignedIdentityArguments> {
  static override readonly terraformType: string = "azurerm_user_assigned_identity";

  get clientId(): string {
    return this.getStringAttribute("client_id");
  }

  get principalId(): string {
    return this.getStringAttribute("principal_id");
  }
}

export interface LogAnalyticsWorkspaceArguments extends Placed {
  readonly sku: "PerGB2018";
  readonly retention_in_days: number;
}

export class LogAnalyticsWorkspace extends ProviderResource<LogAnalyticsWorkspaceArguments> {
  static override readonly terraformType: string = "azurerm_log_analytics_workspace";
}

export interface ContainerAppEnvironmentArguments extends Placed {
  readonly logs_destination: "log-analytics";
  readonly log_analytics_workspace_id: string;
}

export class ContainerAppEnvironment extends ProviderResource<ContainerAppEnvironmentArguments> {
  static override readonly terraformType: string = "azurerm_container_app_environment";
}

export interface ContainerAppArguments {
  readonly name: string;
  readonly resource_group_name: string;
  readonly container_app_environment_id: string;
  readonly revision_mode: "Single";
  readonly identity: ManagedIdentityArguments;
  readonly registry?: readonly { readonly server: string; readonly identity: string }[];
  readonly template: {
    readonly min_replicas: number;
    readonly max_replicas: number;
    readonly termination_grace_period_seconds: number;
    readonly container: readonly {
      readonly name: string;
      readonly image: string;
      readonly cpu: number;
      readonly memory: string;
      readonly command?: readonly string[];
      readonly env: readonly { readonly name: string; readonly value: string }[];
    }[];
  };
}

export interface ManagedIdentityArguments {
  readonly type: "UserAssigned";
  readonly identity_ids: readonly string[];
}

export class ContainerApp extends ProviderResource<ContainerAppArguments> {
  static override readonly terraformType: string = "azurerm_container_app";
}

export interface ServicePlanArguments extends Placed {
  readonly os_type: "Linux";
  readonly sku_name: "FC1";
}

export class ServicePlan extends ProviderResource<ServicePlanArguments> {
  static override readonly terraformType: string = "azurerm_service_plan";
}

export interface FunctionAppArguments extends Placed {
  readonly service_plan_id: string;
  readonly storage_container_type: "blobContainer";
  readonly storage_container_endpoint: string;
  readonly storage_authentication_type: "UserAssignedIdentity";
  readonly storage_user_assigned_identity_id: string;
  readonly runtime_name: "node";
  readonly runtime_version: string;
  readonly maximum_instance_count: number;
  readonly instance_memory_in_mb: number;
  readonly https_only: true;
  readonly zip_deploy_file?: string;
  readonly app_settings: Readonly<Record<string, string>>;
  readonly identity: ManagedIdentityArguments;
  readonly site_config: Record<string, never>;
}

export class FunctionApp extends ProviderResource<FunctionAppArguments> {
  static override readonly terraformType: string = "azurerm_function_app_flex_consumption";
}
