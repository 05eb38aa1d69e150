import type { Condition, ObjectBucket } from "./object-bucket.ts";
import { bytes, keptHeaders, placeOf, xmlError, type ObjectReply, type ObjectRequest } from "./messages.ts";

/** A refusal by its documented code. https://cloud.google.com/storage/docs/xml-api/reference-status */
type Refusal = readonly [status: number, code: string, message: string];

const NO_KEY: Refusal = [404, "NoSuchKey", "The specified key does not exist."];
const NO_BUCKET: Refusal = [404, "NoSuchBucket", "The specified bucket does not exist."];
const FAILED: Refusal = [412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold."];
const UNKNOWN: Refusal = [400, "InvalidArgument", "Invalid argument."];
const JSON_API = /^\/storage\/v1\/b\/([^/]+)(\/o)?$/;

/**
 * Answers a request as Google Cloud Storage does: objects by the XML API, the list of objects and the bucket by the JSON API.
 * https://cloud.google.com/storage/docs/request-preconditions
 */
export function answerGcs(bucket: ObjectBucket, request: ObjectRequest, id: string): ObjectReply {
  const { pathname, searchParams: query } = new URL(request.target, "http://gcs.invalid");
  const answer = (status: number, headers: Record<string, string>, body: Uint8Array): ObjectReply => {
    const date = new Date(bucket.nowMs()).toUTCString();
    return { status, headers: { "x-guploader-uploadid": id, date, ...headers }, body };
  };
  const refuse = ([status, code, message]: Refusal): ObjectReply =>
    answer(status, { "content-type": "application/xml" }, xmlError(code, message));
  const json = (status: number, value: object): ObjectReply =>
    answer(status, { "content-type": "application/json" }, bytes(JSON.stringify(value)));
  const [, asked, objects] = JSON_API.exec(pathname) ?? [];
  if (asked !== undefined) {
    if (asked !== bucket.name)
      return json(404, { error: { code: 404, message: NO_BUCKET[2], errors: [{ reason: "notFound" }] } });
    if (objects !== undefined) return json(200, listing(bucket, query));
    const settings = bucket.settings.get("bucket");
    if (settings !== "denied") return json(200, JSON.parse(settings ?? "{}") as object);
    return json(403, { error: { code: 403, message: "storage.buckets.get is denied", errors: [{ reason: "forbidden" }] } });
  }
  const place = placeOf(pathname);
  if (place.bucket !== bucket.name) return refuse(NO_BUCKET);
  if (request.method === "GET") {
    const found = bucket.objects.get(place.key);
    if (!found) return refuse(NO_KEY);
    const modified = { "last-modified": new Date(found.writtenMs).toUTCString() };
    return answer(200, { ...found.headers, ...modified, "x-goog-generation": found.generation, ...bucket.signs }, found.body);
  }
  const match = request.headers["x-goog-if-generation-match"];
  if (request.method !== "PUT" || (match !== undefined && !/^\d+$/.test(match))) return refuse(UNKNOWN);
  const condition: Condition | undefined =
    match === undefined ? undefined : match === "0" ? { kind: "absent" } : { kind: "generation", is: match };
  const written = bucket.put(place.key, request.body, keptHeaders(request.headers, "x-goog-meta-"), condition);
  if (typeof written === "string") return refuse(FAILED);
  return answer(200, { "x-goog-generation": written.object.generation, ...bucket.signs }, new Uint8Array());
}

function listing(bucket: ObjectBucket, query: URLSearchParams): object {
  const after = query.get("pageToken") ?? "";
  const most = Number(query.get("maxResults") ?? 1_000);
  const { keys, next } = bucket.page(query.get("prefix") ?? "", query.get("delimiter") ?? "", after, most);
  return { items: keys.map((name) => ({ name })), ...(next === undefined ? {} : { nextPageToken: next }) };
}
