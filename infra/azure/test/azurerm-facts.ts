import type { ArgumentFacts, ProviderFacts } from "@leasehold/test-kit/terrain";

const place: ArgumentFacts = { name: "required string", resource_group_name: "required string", location: "required string" };
const container = {
  min: 1,
  block: {
    name: "required string",
    image: "required string",
    cpu: "required number",
    memory: "required string",
    command: "list",
    env: { block: { name: "required string", value: "string" } },
    liveness_probe: {
      block: {
        transport: "required string",
        port: "required number",
        path: "string",
        interval_seconds: "number",
        failure_count_threshold: "number",
      },
    },
  },
} as const;
const registry = { block: { server: "required string", identity: "string" } } as const;
const identity = { max: 1, block: { type: "required string", identity_ids: "set" } } as const;

/**
 * The facts of azurerm about the arguments in use. `npm run compare-providers` compares them with the provider's own bindings.
 */
export const azurerm: ProviderFacts & { readonly bindings: string } = {
  source: "hashicorp/azurerm",
  version: "4.73.0",
  bindings: "@cdktn/provider-azurerm@16.1.0",
  configuration: {
    features: { min: 1, max: 1, block: { storage: { max: 1, block: { data_plane_available: "bool" } } } },
    storage_use_azuread: "bool",
    subscription_id: "string",
  },
  resources: {
    azurerm_storage_account: {
      arguments: {
        ...place,
        account_tier: "required string",
        account_replication_type: "required string",
        min_tls_version: "string",
        shared_access_key_enabled: "bool",
        allow_nested_items_to_be_public: "bool",
        local_user_enabled: "bool",
        blob_properties: {
          max: 1,
          block: {
            versioning_enabled: "bool",
            delete_retention_policy: { max: 1, block: { days: "number" } },
            container_delete_retention_policy: { max: 1, block: { days: "number" } },
          },
        },
      },
      exports: ["id", "primary_blob_endpoint"],
    },
    azurerm_storage_container: {
      arguments: { name: "required string", storage_account_id: "string" },
      exports: ["id"],
    },
    azurerm_storage_management_policy: {
      arguments: {
        storage_account_id: "required string",
        rule: {
          block: {
            name: "required string",
            enabled: "required bool",
            filters: { min: 1, max: 1, block: { blob_types: "required set", prefix_match: "set" } },
            actions: {
              min: 1,
              max: 1,
              block: { base_blob: { max: 1, block: { delete_after_days_since_modification_greater_than: "number" } } },
            },
          },
        },
      },
    },
    azurerm_role_definition: {
      arguments: {
        name: "required string",
        scope: "required string",
        description: "string",
        assignable_scopes: "list",
        permissions: { block: { actions: "list", data_actions: "set" } },
      },
      exports: ["role_definition_resource_id"],
    },
    azurerm_role_assignment: {
      arguments: {
        scope: "required string",
        principal_id: "required string",
        principal_type: "string",
        role_definition_id: "string",
        role_definition_name: "string",
        condition: "string",
        condition_version: "string",
      },
    },
    azurerm_user_assigned_identity: {
      arguments: place,
      exports: ["id", "client_id", "principal_id"],
    },
    azurerm_container_app: {
      arguments: {
        name: "required string",
        resource_group_name: "required string",
        container_app_environment_id: "required string",
        revision_mode: "required string",
        identity,
        registry,
        template: {
          min: 1,
          max: 1,
          block: {
            min_replicas: "number",
            max_replicas: "number",
            termination_grace_period_seconds: "number",
            container,
          },
        },
      },
    },
    azurerm_application_insights: {
      arguments: {
        ...place,
        application_type: "required string",
        workspace_id: "string",
        local_authentication_disabled: "bool",
      },
      exports: ["id", "connection_string"],
    },
    azurerm_monitor_scheduled_query_rules_alert_v2: {
      arguments: {
        ...place,
        description: "string",
        scopes: "required list",
        severity: "required number",
        evaluation_frequency: "required string",
        window_duration: "required string",
        auto_mitigation_enabled: "bool",
        skip_query_validation: "bool",
        criteria: {
          min: 1,
          block: {
            query: "required string",
            time_aggregation_method: "required string",
            operator: "required string",
            threshold: "required number",
          },
        },
        action: { max: 1, block: { action_groups: "list" } },
      },
    },
    azurerm_service_plan: {
      arguments: { ...place, os_type: "required string", sku_name: "required string" },
      exports: ["id"],
    },
  },
};
