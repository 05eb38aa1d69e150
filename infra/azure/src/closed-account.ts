/** The settings of each storage account: access only by Entra ID, and nothing public. */
export const CLOSED_ACCOUNT = {
  account_kind: "StorageV2",
  account_tier: "Standard",
  min_tls_version: "TLS1_2",
  https_traffic_only_enabled: true,
  shared_access_key_enabled: false,
  default_to_oauth_authentication: true,
  allow_nested_items_to_be_public: false,
  cross_tenant_replication_enabled: false,
  local_user_enabled: false,
} as const;
