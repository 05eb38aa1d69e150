import { ProviderResource } from "@leasehold/infra-terrain";

export interface RetryArguments {
  readonly retry_count: number;
  readonly min_backoff_duration: string;
  readonly max_backoff_duration: string;
}

export interface CloudSchedulerJobArguments {
  readonly project: string;
  readonly region: string;
  readonly name: string;
  readonly schedule: string;
  readonly time_zone: string;
  /** The time after which a delivery counts as failed. */
  readonly attempt_deadline: string;
  readonly retry_config: RetryArguments;
  readonly http_target: {
    readonly uri: string;
    readonly http_method: "POST";
    readonly oidc_token: { readonly service_account_email: string; readonly audience: string };
  };
}

export class CloudSchedulerJob extends ProviderResource<CloudSchedulerJobArguments> {
  static override readonly terraformType: string = "google_cloud_scheduler_job";
}
