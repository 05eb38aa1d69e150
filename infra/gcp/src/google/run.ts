import { ProviderResource } from "@leasehold/infra-terrain";

export interface ContainerArguments {
  readonly image: string;
  readonly command?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly resources?: { readonly limits: Readonly<Record<string, string>> };
  readonly liveness_probe?: {
    readonly http_get: { readonly path: string; readonly port: number };
    readonly period_seconds: number;
    readonly failure_threshold: number;
  };
}

export interface CloudRunWorkerPoolArguments {
  readonly project: string;
  readonly name: string;
  readonly location: string;
  readonly deletion_protection: boolean;
  readonly scaling: { readonly manual_instance_count: number };
  readonly template: {
    readonly service_account: string;
    readonly containers: readonly ContainerArguments[];
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
