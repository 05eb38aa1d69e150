/** A Lease as the API server keeps it, and the checks and the changes that it makes. */
export interface LeaseObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
  };
  spec?: LeaseSpec;
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
  strategy?: string;
}

export type Json = Readonly<Record<string, unknown>>;

export interface Reply {
  readonly status: number;
  readonly body: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names */
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/micro_time.go: RFC 3339 with six digits, in UTC */
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
/** https://github.com/kubernetes/apimachinery/blob/master/pkg/api/validation/objectmeta.go: TotalAnnotationSizeLimitB */
const MAX_ANNOTATIONS = 256 * 1024;
const MAX_INT32 = 2 ** 31 - 1;

/** Returns a failure as the API server answers it: https://kubernetes.io/docs/reference/kubernetes-api/definitions/status-v1-meta/ */
export function failure(status: number, reason: string, message: string, details: Json = {}): Reply {
  return {
    status,
    body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, details, code: status },
  };
}

export function leaseFailure(status: number, reason: string, name: string, message: string): Reply {
  return failure(status, reason, `leases.coordination.k8s.io${name === "" ? "" : ` "${name}"`} ${message}`, {
    name,
    group: "coordination.k8s.io",
    kind: "leases",
  });
}

/** Returns a copy with a JSON merge patch applied: https://www.rfc-editor.org/rfc/rfc7386 */
export function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = { ...(target as object) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name] ?? {}, value);
  }
  return result;
}

/** Returns what the API server finds wrong with an object; `undefined` if it accepts it. */
export function objection({ metadata, spec = {} }: LeaseObject): Reply | undefined {
  // Decoding fails before any validation.
  for (const field of ["acquireTime", "renewTime"] as const) {
    const time = spec[field];
    if (time !== undefined && !MICRO_TIME.test(time))
      return failure(400, "BadRequest", `parsing time "${time}" in spec.${field}`);
  }
  for (const field of ["leaseDurationSeconds", "leaseTransitions"] as const) {
    const number = spec[field];
    if (number !== undefined && !(Number.isInteger(number) && Math.abs(number) <= MAX_INT32)) {
      return failure(400, "BadRequest", `json: cannot unmarshal number ${number} into Go struct field of type int32`);
    }
  }
  const invalid = (what: string): Reply => leaseFailure(422, "Invalid", metadata.name, `is invalid: ${what}`);
  if (metadata.name.length > 253 || !SUBDOMAIN.test(metadata.name))
    return invalid("metadata.name: a lowercase RFC 1123 subdomain");
  const bytes = Object.entries(metadata.annotations ?? {}).reduce((sum, [key, value]) => sum + Buffer.byteLength(key + value), 0);
  if (bytes > MAX_ANNOTATIONS) return invalid(`metadata.annotations: Too long: may not be more than ${MAX_ANNOTATIONS} bytes`);
  // https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/coordination/validation/validation.go
  if (spec.leaseDurationSeconds !== undefined && spec.leaseDurationSeconds <= 0) {
    return invalid("spec.leaseDurationSeconds: must be greater than 0");
  }
  if ((spec.leaseTransitions ?? 0) < 0) return invalid("spec.leaseTransitions: must be greater than or equal to 0");
  return undefined;
}
