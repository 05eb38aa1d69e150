import { ProviderResource, ResourceProvider } from "@leasehold/infra-terrain";

/** The arguments that are used here, by the provider's own names: https://registry.terraform.io/providers/hashicorp/google/6.50.0/docs */
export interface GoogleProviderArguments {
  readonly project?: string;
  readonly region?: string;
}

export class GoogleProvider extends ResourceProvider<GoogleProviderArguments> {
  static override readonly providerName: string = "google";
  static override readonly versionConstraint: string = "~> 6.50";
}

export interface FirestoreDatabaseArguments {
  readonly project: string;
  readonly name: string;
  readonly location_id: string;
  readonly type: "FIRESTORE_NATIVE";
  readonly delete_protection_state: "DELETE_PROTECTION_ENABLED" | "DELETE_PROTECTION_DISABLED";
  readonly point_in_time_recovery_enablement: "POINT_IN_TIME_RECOVERY_ENABLED";
  /** Terraform's way with a database that it no longer manages. */
  readonly deletion_policy: "ABANDON" | "DELETE";
}

export class FirestoreDatabase extends ProviderResource<FirestoreDatabaseArguments> {
  static override readonly terraformType: string = "google_firestore_database";

  get name(): string {
    return this.getStringAttribute("name");
  }
}

export interface FirestoreFieldArguments {
  readonly project: string;
  readonly database: string;
  readonly collection: string;
  readonly field: string;
  readonly ttl_config: Record<string, never>;
  /** Empty: no index. Without it the field keeps its indexes. */
  readonly index_config: Record<string, never>;
}

export class FirestoreField extends ProviderResource<FirestoreFieldArguments> {
  static override readonly terraformType: string = "google_firestore_field";
}

export interface FirestoreBackupScheduleArguments {
  readonly project: string;
  readonly database: string;
  readonly retention: string;
  readonly daily_recurrence: Record<string, never>;
}

export class FirestoreBackupSchedule extends ProviderResource<FirestoreBackupScheduleArguments> {
  static override readonly terraformType: string = "google_firestore_backup_schedule";
}

export interface ProjectIamCustomRoleArguments {
  readonly project: string;
  readonly role_id: string;
  readonly title: string;
  readonly description: string;
  readonly permissions: readonly string[];
}

export class ProjectIamCustomRole extends ProviderResource<ProjectIamCustomRoleArguments> {
  static override readonly terraformType: string = "google_project_iam_custom_role";
}

export interface ProjectIamMemberArguments {
  readonly project: string;
  readonly role: string;
  readonly member: string;
  readonly condition: { readonly title: string; readonly description: string; readonly expression: string };
}

export class ProjectIamMember extends ProviderResource<ProjectIamMemberArguments> {
  static override readonly terraformType: string = "google_project_iam_member";
}

export interface ServiceAccountArguments {
  readonly project: string;
  readonly account_id: string;
  readonly display_name: string;
}

export class ServiceAccount extends ProviderResource<ServiceAccountArguments> {
  static override readonly terraformType: string = "google_service_account";

  get email(): string {
    return this.getStringAttribute("email");
  }

  /** As policies name it: `serviceAccount:<email>`. */
  get member(): string {
    return this.getStringAttribute("member");
  }
}

export interface ContainerArguments {
  readonly image: string;
  readonly command?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

export interface CloudRunWorkerPoolArguments {
  readonly project: string;
  readonly name: string;
  readonly location: string;
  readonly deletion_protection: boolean;
  readonly scaling: { readonly manual_instance_count: number };
  readonly template: {
    readonly service_account: string;
    readonly containers: readonly (ContainerArguments & {
      readonly resources: { readonly limits: Readonly<Record<string, string>> };
    })[];
  };
}

export class CloudRunWorkerPool extends ProviderResource<CloudRunWorkerPoolArguments> {
  static override readonly terraformType: string = "google_cloud_run_v2_worker_pool";
}

export interface CloudRunServiceArguments {
  readonly project: string;
  readonly name: string;
  readonly location: string;
  readonly deletion_protection: boolean;
  readonly ingress: "INGRESS_TRAFFIC_INTERNAL_ONLY";
  readonly template: {
    readonly service_account: string;
    readonly timeout: string;
    readonly scaling: { readonly min_instance_count: number; readonly max_instance_count: number };
    readonly containers: readonly ContainerArguments[];
  };
}

export class CloudRunService extends ProviderResource<CloudRunServiceArguments> {
  static override readonly terraformType: string = "google_cloud_run_v2_service";

  get name(): string {
    return this.getStringAttribute("name");
  }

  get uri(): string {
    return this.getStringAttribute("uri");
  }
}

export interface CloudRunServiceIamMemberArguments {
  readonly project: string;
  readonly location: string;
  readonly name: string;
  readonly role: "roles/run.invoker";
  readonly member: string;
}

export class CloudRunServiceIamMember extends ProviderResource<CloudRunServiceIamMemberArguments> {
  static override readonly terraformType: string = "google_cloud_run_v2_service_iam_member";
}

export interface CloudSchedulerJobArguments {
  readonly project: string;
  readonly region: string;
  readonly name: string;
  readonly schedule: string;
  readonly time_zone: string;
  /** How long a delivery may take before it counts as failed. */
  readonly attempt_deadline: string;
  readonly retry_config: { readonly retry_count: number };
  readonly http_target: {
    readonly uri: string;
    readonly http_method: "POST";
    readonly oidc_token: { readonly service_account_email: string; readonly audience: string };
  };
}

export class CloudSchedulerJob extends ProviderResource<CloudSchedulerJobArguments> {
  static override readonly terraformType: string = "google_cloud_scheduler_job";
}
