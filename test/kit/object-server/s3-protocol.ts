import type { Condition, ObjectBucket } from "./object-bucket.ts";
import { bytes, keptHeaders, placeOf, xmlError, type ObjectReply, type ObjectRequest } from "./messages.ts";

/** A refusal by its documented code. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
type Refusal = readonly [status: number, code: string, message: string];

const NO_KEY: Refusal = [404, "NoSuchKey", "The specified key does not exist."];
const NO_BUCKET: Refusal = [404, "NoSuchBucket", "The specified bucket does not exist"];
const FAILED: Refusal = [412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold"];
const DENIED: Refusal = [403, "AccessDenied", "Access Denied"];
const UNKNOWN: Refusal = [501, "NotImplemented", "A header you provided implies functionality that is not implemented"];
/** The answers of a bucket without these settings. */
const SETTINGS: Readonly<Record<string, Refusal | string>> = {
  lifecycle: [404, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist"],
  versioning: '<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>',
};

/**
 * Answers a request as S3 does: GetObject, PutObject with its conditions, ListObjectsV2, and two settings of the bucket. Buckets
 * are the first part of the path.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
export function answerS3(bucket: ObjectBucket, request: ObjectRequest, id: string): ObjectReply {
  const { pathname, searchParams: query } = new URL(request.target, "http://s3.invalid");
  const place = placeOf(pathname);
  const answer = (status: number, headers: Record<string, string>, body: Uint8Array): ObjectReply => {
    const date = new Date(bucket.nowMs()).toUTCString();
    return { status, headers: { "x-amz-request-id": id, date, ...headers }, body };
  };
  const refuse = ([status, code, message]: Refusal): ObjectReply =>
    answer(status, { "content-type": "application/xml" }, xmlError(code, message));
  if (request.headers["authorization"] === undefined) return refuse(DENIED);
  if (place.bucket !== bucket.name) return refuse(NO_BUCKET);
  if (place.key === "") {
    const xml = listing(bucket, query) ?? setting(bucket, query) ?? UNKNOWN;
    return typeof xml === "string" ? answer(200, { "content-type": "application/xml" }, bytes(xml)) : refuse(xml);
  }
  if (request.method === "GET") {
    const found = bucket.objects.get(place.key);
    if (!found) return refuse(NO_KEY);
    const modified = { "last-modified": new Date(found.writtenMs).toUTCString() };
    return answer(200, { ...found.headers, ...modified, etag: found.etag, ...bucket.signs }, found.body);
  }
  if (request.method !== "PUT") return refuse(UNKNOWN);
  const condition = conditionOf(request.headers);
  if (condition === "unknown") return refuse(UNKNOWN);
  const written = bucket.put(place.key, request.body, keptHeaders(request.headers, "x-amz-meta-"), condition);
  // A write on an ETag that finds no object has a status of its own.
  if (written === "missing") return refuse(NO_KEY);
  if (written === "condition-failed") return refuse(FAILED);
  return answer(200, { etag: written.object.etag, ...bucket.signs }, new Uint8Array());
}

function conditionOf(headers: ObjectRequest["headers"]): Condition | "unknown" | undefined {
  const { "if-match": match, "if-none-match": noneMatch } = headers;
  if (noneMatch !== undefined) return noneMatch === "*" && match === undefined ? { kind: "absent" } : "unknown";
  return match === undefined ? undefined : { kind: "etag", is: match };
}

function listing(bucket: ObjectBucket, query: URLSearchParams): string | undefined {
  if (query.get("list-type") !== "2") return undefined;
  const { keys, next } = bucket.page(
    query.get("prefix") ?? "",
    query.get("delimiter") ?? "",
    query.get("continuation-token") ?? query.get("start-after") ?? "",
    Number(query.get("max-keys") ?? 1_000),
  );
  const contents = keys.map((key) => `<Contents><Key>${key.replaceAll("&", "&amp;")}</Key></Contents>`).join("");
  const more = next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`;
  return `<ListBucketResult><IsTruncated>${next !== undefined}</IsTruncated>${more}${contents}</ListBucketResult>`;
}

function setting(bucket: ObjectBucket, query: URLSearchParams): Refusal | string | undefined {
  const name = Object.keys(SETTINGS).find((each) => query.has(each));
  if (name === undefined) return undefined;
  const found = bucket.settings.get(name);
  return found === "denied" ? DENIED : (found ?? SETTINGS[name]);
}
