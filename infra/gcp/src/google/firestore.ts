import { ProviderResource } from "@leasehold/infra-terrain";

export interface FirestoreDatabaseArguments {
  readonly project: string;
  readonly name: string;
  readonly location_id: string;
  readonly type: "FIRESTORE_NATIVE";
  readonly delete_protection_state: "DELETE_PROTECTION_ENABLED" | "DELETE_PROTECTION_DISABLED";
  readonly point_in_time_recovery_enablement: "POINT_IN_TIME_RECOVERY_ENABLED";
  /** The action of Terraform on a database that it no longer manages. */
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
  /** Empty, so that the field has no index. Without this argument it keeps its indexes. */
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
