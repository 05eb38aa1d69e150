import { refusedRules, unknownSetting } from "../lifecycle.ts";
import type { BucketSettings } from "../object-service.ts";

/** The parts of a bucket that concern leases. https://cloud.google.com/storage/docs/json_api/v1/buckets */
export interface BucketResource {
  readonly lifecycle?: { readonly rule?: readonly Rule[] };
  readonly retentionPolicy?: object;
  readonly softDeletePolicy?: { readonly retentionDurationSeconds?: string };
  readonly versioning?: { readonly enabled?: boolean };
  readonly locationType?: string;
}

interface Rule {
  readonly action?: { readonly type?: string };
  readonly condition?: {
    readonly matchesPrefix?: readonly string[];
    readonly isLive?: boolean;
    readonly numNewerVersions?: number;
    readonly daysSinceNoncurrentTime?: number;
  };
}

/** Judges a bucket's settings. `undefined`: the account may not read them. */
export function settingsOf(bucket: BucketResource | undefined, prefix: string, ticks: string): BucketSettings {
  if (!bucket) return { refusals: [], warnings: [unknownSetting("lifecycle", "storage.buckets.get")] };
  const { lifecycle, retentionPolicy, softDeletePolicy, versioning, locationType } = bucket;
  const refusals = [...refusedRules((lifecycle?.rule ?? []).flatMap(deletingRules), prefix, ticks)];
  if (retentionPolicy) refusals.push("its retention policy refuses every renewal. Use a bucket without one.");
  const warnings: string[] = [];
  if (Number(softDeletePolicy?.retentionDurationSeconds ?? 0) > 0) {
    warnings.push("Soft delete keeps, and charges for, every version of a lease for days. Set its retention duration to 0.");
  }
  if (versioning?.enabled === true) {
    warnings.push(
      `The bucket keeps every version of an object, 6 million a year of each lease. Add a lifecycle rule that deletes noncurrent versions (daysSinceNoncurrentTime) for the prefix '${prefix}'.`,
    );
  }
  if (locationType === "multi-region" || locationType === "dual-region") {
    warnings.push(
      `The bucket's location is a ${locationType}. If a region is lost, writes that it has not replicated yet may be lost with it. Use a bucket in one region, or accept that.`,
    );
  }
  return { refusals, warnings };
}

/** Leaves out rules for noncurrent versions, because these delete no lease. */
function deletingRules({ action, condition = {} }: Rule): readonly { readonly name: string; readonly prefix: string }[] {
  const { matchesPrefix = [""], isLive, numNewerVersions, daysSinceNoncurrentTime } = condition;
  if (action?.type !== "Delete" || isLive === false) return [];
  if (numNewerVersions !== undefined || daysSinceNoncurrentTime !== undefined) return [];
  return matchesPrefix.map((prefix) => ({ name: JSON.stringify(condition), prefix }));
}
