import type { ReceivedRequest } from "./request-log.ts";

/**
 * Returns the meaning of a request to Azure Blob Storage, as a name that a rule can compare:
 * - `lease:acquire`, `lease:renew`, `lease:change`, `lease:release` and `lease:break`;
 * - `put-blob`, `head`, `get` and `delete`;
 * - `metadata` for setting metadata;
 * - `create-container`, and names that end in `-container` for other operations on a container;
 * - for everything else the method and the `comp` parameter, such as `get-list`.
 */
export function blobRequestName(request: ReceivedRequest): string {
  const onContainer = request.query.get("restype") === "container";
  return onContainer ? `${containerOperation(request)}-container` : blobOperation(request);
}

function containerOperation(request: ReceivedRequest): string {
  return request.method === "PUT" && !request.query.has("comp") ? "create" : blobOperation(request);
}

function blobOperation({ method, query, headers }: ReceivedRequest): string {
  const component = query.get("comp");
  if (component === "lease") return `lease:${String(headers["x-ms-lease-action"])}`;
  if (method === "PUT" && component === "metadata") return "metadata";
  if (method === "PUT" && component === null) return "put-blob";
  return component === null ? method.toLowerCase() : `${method.toLowerCase()}-${component}`;
}
