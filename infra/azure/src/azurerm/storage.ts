import { ProviderResource } from "@leasehold/infra-terrain";
import type { Placed } from "./placed.ts";

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
