import type { ArgumentFacts, ProviderFacts } from "@leasehold/test-kit/terrain";

const container: ArgumentFacts = {
  image: "required string",
  command: "list",
  env: { block: { name: "required string", value: "string" } },
  resources: { max: 1, block: { limits: "map" } },
};

/** The facts of google about the arguments in use. `npm run compare-providers` compares them with the provider's own bindings. */
export const google: ProviderFacts & { readonly bindings: string } = {
  source: "hashicorp/google",
  // Version 7.0 changes nothing that is used here:
  // https://registry.terraform.io/providers/hashicorp/google/latest/docs/guides/version_7_upgrade
  // The probes of worker pools came with 7, by the documentation in the provider's repository
  // (website/docs/r/cloud_run_v2_worker_pool.html.markdown).
  version: "7.20.0",
  // The newest public bindings on npm.
  boundAt: "6.50.0",
  bindings: "@cdktf/provider-google@16.12.1",
  configuration: { project: "string", region: "string" },
  resources: {
    google_firestore_database: {
      arguments: {
        project: "string",
        name: "required string",
        location_id: "required string",
        type: "required string",
        delete_protection_state: "string",
        point_in_time_recovery_enablement: "string",
        deletion_policy: "string",
      },
      exports: ["id"],
    },
    google_firestore_field: {
      arguments: {
        project: "string",
        database: "string",
        collection: "required string",
        field: "required string",
        ttl_config: { max: 1, block: {} },
        index_config: { max: 1, block: {} },
      },
    },
    google_project_iam_custom_role: {
      arguments: {
        project: "string",
        role_id: "required string",
        title: "required string",
        description: "string",
        permissions: "required set",
      },
      exports: ["id"],
    },
    google_project_iam_member: {
      arguments: {
        project: "required string",
        role: "required string",
        member: "required string",
        condition: { max: 1, block: { title: "required string", description: "string", expression: "required string" } },
      },
    },
    google_service_account: {
      arguments: { project: "string", account_id: "required string", display_name: "string" },
      exports: ["email", "member"],
    },
    google_cloud_run_v2_worker_pool: {
      arguments: {
        project: "string",
        name: "required string",
        location: "required string",
        deletion_protection: "bool",
        scaling: { max: 1, block: { manual_instance_count: "number" } },
        template: {
          min: 1,
          max: 1,
          block: {
            service_account: "string",
            containers: {
              block: {
                ...container,
                liveness_probe: {
                  max: 1,
                  block: {
                    http_get: { max: 1, block: { path: "string", port: "number" } },
                    period_seconds: "number",
                    failure_threshold: "number",
                  },
                },
              },
            },
          },
        },
      },
    },
    google_cloud_run_v2_service: {
      arguments: {
        project: "string",
        name: "required string",
        location: "required string",
        deletion_protection: "bool",
        ingress: "string",
        template: {
          min: 1,
          max: 1,
          block: {
            service_account: "string",
            timeout: "string",
            scaling: { max: 1, block: { min_instance_count: "number", max_instance_count: "number" } },
            containers: { block: container },
          },
        },
      },
      exports: ["uri"],
    },
    google_cloud_run_v2_service_iam_member: {
      arguments: {
        project: "string",
        location: "string",
        name: "required string",
        role: "required string",
        member: "required string",
      },
    },
    google_logging_metric: {
      arguments: {
        project: "string",
        name: "required string",
        description: "string",
        filter: "required string",
        metric_descriptor: { max: 1, block: { metric_kind: "required string", value_type: "required string" } },
      },
    },
    google_monitoring_alert_policy: {
      arguments: {
        project: "string",
        display_name: "required string",
        combiner: "required string",
        conditions: {
          min: 1,
          block: {
            display_name: "required string",
            condition_threshold: {
              max: 1,
              block: {
                filter: "string",
                comparison: "required string",
                threshold_value: "number",
                duration: "required string",
                evaluation_missing_data: "string",
                aggregations: {
                  block: { alignment_period: "string", per_series_aligner: "string", cross_series_reducer: "string" },
                },
              },
            },
          },
        },
        notification_channels: "list",
        documentation: { max: 1, block: { content: "string", mime_type: "string" } },
      },
    },
    google_cloud_scheduler_job: {
      arguments: {
        project: "string",
        region: "string",
        name: "required string",
        schedule: "string",
        time_zone: "string",
        attempt_deadline: "string",
        retry_config: {
          max: 1,
          block: { retry_count: "number", min_backoff_duration: "string", max_backoff_duration: "string" },
        },
        http_target: {
          max: 1,
          block: {
            uri: "required string",
            http_method: "string",
            oidc_token: { max: 1, block: { service_account_email: "required string", audience: "string" } },
          },
        },
      },
    },
  },
};

/** The same with the arguments of a bucket, which the app does not have. */
export const googleWithBuckets: typeof google = {
  ...google,
  resources: {
    ...google.resources,
    google_storage_bucket: {
      arguments: {
        project: "string",
        name: "required string",
        location: "required string",
        uniform_bucket_level_access: "bool",
        public_access_prevention: "string",
        versioning: { max: 1, block: { enabled: "required bool" } },
        soft_delete_policy: { max: 1, block: { retention_duration_seconds: "number" } },
        lifecycle_rule: {
          block: {
            action: { min: 1, max: 1, block: { type: "required string" } },
            condition: { min: 1, max: 1, block: { age: "number", matches_prefix: "list" } },
          },
        },
      },
    },
    google_storage_bucket_iam_member: {
      arguments: {
        bucket: "required string",
        role: "required string",
        member: "required string",
        condition: { max: 1, block: { title: "required string", description: "string", expression: "required string" } },
      },
    },
  },
};
