import { compareNames } from "./document-store.ts";
import type { QueryFilter, RunQueryRequest } from "./messages.ts";
import { invalidArgument, unimplemented } from "./status-error.ts";

/** A query for documents of one collection by their names. */
export interface NameQuery {
  /** The full path of the collection. */
  readonly collection: string;
  readonly limit: number;
  readonly matches: (name: string) => boolean;
}

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  GREATER_THAN: (order) => order > 0,
  GREATER_THAN_OR_EQUAL: (order) => order >= 0,
  LESS_THAN: (order) => order < 0,
  LESS_THAN_OR_EQUAL: (order) => order <= 0,
};
/** Ids that the service reserves. It refuses them in a query, too. */
const RESERVED = /^(?:\.{1,2}|__.*__)$/u;

/** Reads a query. @throws UNIMPLEMENTED for every query that is not ordered by the documents' names. */
export function nameQueryOf({ parent, structuredQuery }: RunQueryRequest): NameQuery {
  const { from = [], where = null, orderBy = [], limit = null } = structuredQuery ?? {};
  const [source] = from;
  const [order] = orderBy;
  if (!source || source.allDescendants || from.length > 1) throw unimplemented("queries of several collections");
  if (orderBy.length !== 1 || order?.field.fieldPath !== "__name__" || order.direction !== "ASCENDING") {
    throw unimplemented("queries in another order than that of names");
  }
  const tests = where === null ? [] : testsOf(where);
  return {
    collection: `${parent}/${source.collectionId}`,
    limit: limit?.value ?? Infinity,
    matches: (name) => tests.every((test) => test(name)),
  };
}

function testsOf(filter: QueryFilter): readonly ((name: string) => boolean)[] {
  if (filter.filterType === "compositeFilter" && filter.compositeFilter.op === "AND") {
    return filter.compositeFilter.filters.flatMap(testsOf);
  }
  if (filter.filterType !== "fieldFilter") throw unimplemented("such a condition of a query");
  const { field, op, value } = filter.fieldFilter;
  const passes = COMPARISONS[op];
  if (field.fieldPath !== "__name__" || !passes || value.valueType !== "referenceValue") {
    throw unimplemented("conditions other than bounds of the name");
  }
  const { referenceValue } = value;
  const id = referenceValue.slice(referenceValue.lastIndexOf("/") + 1);
  if (id === "" || RESERVED.test(id)) throw invalidArgument(`Not the id of a document: "${id}".`);
  return [(name) => passes(compareNames(name, referenceValue))];
}
