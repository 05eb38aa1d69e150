import type { LifecycleRule, S3Client } from "@aws-sdk/client-s3";
import { refusedRules, unknownSetting, type DeletingRule } from "../lifecycle.ts";
import type { BucketSettings } from "../object-service.ts";
import { ServiceFailure } from "../object-errors.ts";
import { sendOnce } from "./s3-requests.ts";

interface Question {
  readonly client: S3Client;
  readonly sdk: typeof import("@aws-sdk/client-s3");
  readonly bucket: string;
  readonly prefix: string;
  readonly ticks: string;
  readonly signal: AbortSignal;
}

/** The error codes if the bucket lacks the setting, or if the service does not support it. */
const NONE = new Set(["NoSuchLifecycleConfiguration", "NotImplemented"]);

/** Reads the bucket's lifecycle rules, and whether it keeps versions. Sends two requests at once. */
export async function settingsOf({ client, sdk, bucket, prefix, ticks, signal }: Question): Promise<BucketSettings> {
  const [rules, versioning] = await Promise.all([
    ask(async () => (await sendOnce(client, new sdk.GetBucketLifecycleConfigurationCommand({ Bucket: bucket }), signal)).output),
    ask(async () => (await sendOnce(client, new sdk.GetBucketVersioningCommand({ Bucket: bucket }), signal)).output),
  ]);
  const warnings: string[] = [];
  if (rules === "denied") warnings.push(unknownSetting("lifecycle", "s3:GetLifecycleConfiguration"));
  if (versioning === "denied") warnings.push(unknownSetting("versioning", "s3:GetBucketVersioning"));
  const known = (rules === "denied" ? undefined : rules?.Rules)?.filter(({ Status }) => Status === "Enabled") ?? [];
  const keepsVersions = versioning !== "denied" && versioning?.Status === "Enabled";
  const removesVersions = known.some(({ NoncurrentVersionExpiration }) => NoncurrentVersionExpiration !== undefined);
  if (keepsVersions && rules !== "denied" && !removesVersions) {
    warnings.push(
      `The bucket keeps every version of an object, 6 million a year of each lease. Add a lifecycle rule with NoncurrentVersionExpiration after a day for the prefix '${prefix}', and without Expiration.`,
    );
  }
  return { refusals: refusedRules(known.flatMap(deletingRule), prefix, ticks), warnings };
}

/** Returns a setting; `undefined` if there is none, and `denied` if the account may not read it. */
async function ask<T>(send: () => Promise<T>): Promise<T | "denied" | undefined> {
  try {
    return await send();
  } catch (error) {
    const { status = 0, code = "" } = error instanceof ServiceFailure ? error.failure : {};
    if (NONE.has(code) || status === 501) return undefined;
    if (status === 403) return "denied";
    throw error;
  }
}

/** A rule for objects with a tag does not concern leases, which have no tags. */
function deletingRule({ ID, Expiration, Filter, ...rule }: LifecycleRule): readonly DeletingRule[] {
  const deletes = Expiration?.Days !== undefined || Expiration?.Date !== undefined;
  if (!deletes || Filter?.Tag || (Filter?.And?.Tags?.length ?? 0) > 0) return [];
  // oxlint-disable-next-line typescript/no-deprecated -- old rules still have it
  return [{ name: ID ?? "without a name", prefix: Filter?.Prefix ?? Filter?.And?.Prefix ?? rule.Prefix ?? "" }];
}
