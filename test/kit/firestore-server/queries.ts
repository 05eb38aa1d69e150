import { getField, parseFieldPath, project } from "./field-path.ts";
import type { Fields, Filter, QueryTarget, StructuredQuery, Value } from "./messages.ts";
import { invalidArgument, unimplemented } from "./status-error.ts";
import { amountOf, isEquivalent, isNumber } from "./values.ts";
import type { StoredDocument } from "./writes.ts";

/** The pseudo field that stands for a document's name. */
const NAME = "__name__";

type Predicate = (document: StoredDocument) => boolean;

/**
 * A query over one collection, with conditions of equality, a limit and an offset, in the order of names. Firestore can
 * do more: other comparisons and orders, `or`, cursors, collection groups, vectors. All of that is UNIMPLEMENTED, so that
 * nothing is answered wrongly.
 */
export class Query {
  readonly #isIn: Predicate;
  readonly #where: Predicate;
  readonly #offset: number;
  readonly #limit: number;
  readonly #select: readonly string[] | undefined;

  /** @throws UNIMPLEMENTED for what it cannot answer. */
  constructor({ parent, structuredQuery: query }: QueryTarget) {
    checkFeatures(query);
    const [collection] = query.from;
    if (collection === undefined) throw invalidArgument("A query must name a collection.");
    const prefix = `${parent}/${collection.collectionId}/`;
    this.#isIn = ({ name }) => name.startsWith(prefix) && !name.includes("/", prefix.length);
    this.#where = query.where === null ? () => true : predicate(query.where);
    this.#offset = query.offset;
    this.#limit = query.limit?.value ?? Infinity;
    this.#select = query.select?.fields.map(({ fieldPath }) => fieldPath).filter((path) => path !== NAME);
  }

  /** Those of `documents` that it asks for. */
  run(documents: Iterable<StoredDocument>): readonly StoredDocument[] {
    return [...documents]
      .filter((document) => this.#isIn(document) && this.#where(document))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(this.#offset, this.#offset + this.#limit);
  }

  /** The fields of a result that it asks for. */
  fieldsOf({ fields }: StoredDocument): Fields {
    return this.#select === undefined ? fields : project(fields, this.#select);
  }
}

function checkFeatures(query: StructuredQuery): void {
  const isByName = query.orderBy.every(({ field, direction }) => field.fieldPath === NAME && direction !== "DESCENDING");
  if (!isByName) throw unimplemented("queries in an order other than that of names");
  if (query.from.length !== 1 || query.from[0]?.allDescendants === true) throw unimplemented("collection groups");
  if (query.startAt !== null || query.endAt !== null) throw unimplemented("cursors of queries");
  if (query.findNearest !== null) throw unimplemented("vector searches");
}

function predicate(filter: Filter): Predicate {
  switch (filter.filterType) {
    case "compositeFilter": {
      if (filter.compositeFilter.op !== "AND") throw unimplemented(`the composite filter ${filter.compositeFilter.op}`);
      const predicates = filter.compositeFilter.filters.map(predicate);
      return (document) => predicates.every((matches) => matches(document));
    }
    case "fieldFilter": {
      const { op, field, value } = filter.fieldFilter;
      if (op !== "EQUAL") throw unimplemented(`the filter ${op}`);
      return onField(field.fieldPath, (found) => isEquivalent(found, value));
    }
    case "unaryFilter": {
      const { op, field } = filter.unaryFilter;
      if (op === "IS_NULL") return onField(field.fieldPath, ({ valueType }) => valueType === "nullValue");
      if (op === "IS_NAN") return onField(field.fieldPath, (found) => isNumber(found) && Number.isNaN(amountOf(found)));
      throw unimplemented(`the filter ${op}`);
    }
  }
}

/** A condition on the field at `fieldPath`, which no document without that field meets. */
function onField(fieldPath: string, condition: (value: Value) => boolean): Predicate {
  if (fieldPath === NAME) return ({ name }) => condition({ valueType: "referenceValue", referenceValue: name });
  const path = parseFieldPath(fieldPath);
  return ({ fields }) => {
    const value = getField(fields, path);
    return value !== undefined && condition(value);
  };
}
