/**
 * The messages of google.firestore.v1 that this server reads or writes, in the form in which proto-loader decodes them. A field
 * that was not sent has its default value; a message is null then. A field of a oneof is absent then, and the oneof's name says
 * which field was sent. https://cloud.google.com/firestore/docs/reference/rpc/google.firestore.v1
 */

/** Seconds since 1970, and the nanoseconds after them. */
export interface Timestamp {
  readonly seconds: string;
  readonly nanos: number;
}

export type Value =
  | { readonly valueType: "nullValue"; readonly nullValue: "NULL_VALUE" }
  | { readonly valueType: "booleanValue"; readonly booleanValue: boolean }
  | { readonly valueType: "integerValue"; readonly integerValue: string }
  | { readonly valueType: "doubleValue"; readonly doubleValue: number }
  | { readonly valueType: "timestampValue"; readonly timestampValue: Timestamp }
  | { readonly valueType: "stringValue"; readonly stringValue: string }
  | { readonly valueType: "bytesValue"; readonly bytesValue: Uint8Array }
  | { readonly valueType: "referenceValue"; readonly referenceValue: string }
  | { readonly valueType: "geoPointValue"; readonly geoPointValue: { readonly latitude: number; readonly longitude: number } }
  | { readonly valueType: "arrayValue"; readonly arrayValue: { readonly values: readonly Value[] } }
  | { readonly valueType: "mapValue"; readonly mapValue: { readonly fields: Fields } };

/** The fields of a document or of a map. */
export type Fields = Readonly<Record<string, Value>>;

export interface Document {
  readonly name: string;
  readonly fields: Fields;
  readonly createTime: Timestamp;
  readonly updateTime: Timestamp;
}

export interface DocumentMask {
  readonly fieldPaths: readonly string[];
}

export type Precondition =
  | { readonly conditionType: "exists"; readonly exists: boolean }
  | { readonly conditionType: "updateTime"; readonly updateTime: Timestamp }
  | { readonly conditionType?: never };

export type Write = {
  readonly updateMask: DocumentMask | null;
  readonly updateTransforms: readonly object[];
  readonly currentDocument: Precondition | null;
} & (
  | { readonly operation: "update"; readonly update: { readonly name: string; readonly fields: Fields } }
  | { readonly operation: "delete"; readonly delete: string }
  | { readonly operation?: "transform" }
);

export interface WriteResult {
  readonly updateTime?: Timestamp;
  readonly transformResults: readonly never[];
}

export interface CommitRequest {
  readonly database: string;
  readonly writes: readonly Write[];
  readonly transaction: Uint8Array;
}

export interface CommitResponse {
  readonly writeResults: readonly WriteResult[];
  readonly commitTime: Timestamp;
}

/** google.rpc.Status: the result of one part of a request. */
export interface Status {
  readonly code: number;
  readonly message: string;
}

export type TransactionOptions = { readonly mode?: "readOnly" | "readWrite" };

export interface BeginTransactionRequest {
  readonly database: string;
  readonly options: TransactionOptions | null;
}

export interface RollbackRequest {
  readonly database: string;
  readonly transaction: Uint8Array;
}

/** The transaction or time with which a read is consistent. */
export type Consistency =
  | { readonly consistencySelector: "transaction"; readonly transaction: Uint8Array }
  | { readonly consistencySelector: "newTransaction"; readonly newTransaction: TransactionOptions }
  | { readonly consistencySelector: "readTime"; readonly readTime: Timestamp }
  | { readonly consistencySelector?: never };

export type BatchGetDocumentsRequest = Consistency & {
  readonly database: string;
  readonly documents: readonly string[];
  readonly mask: object | null;
};

export type BatchGetDocumentsResponse =
  | { readonly transaction: Uint8Array }
  | { readonly found: Document; readonly readTime: Timestamp }
  | { readonly missing: string; readonly readTime: Timestamp };

export interface FieldFilter {
  readonly field: { readonly fieldPath: string };
  readonly op: string;
  readonly value: Value;
}

/** A condition of a query. */
export type QueryFilter =
  | { readonly filterType: "fieldFilter"; readonly fieldFilter: FieldFilter }
  | {
      readonly filterType: "compositeFilter";
      readonly compositeFilter: { readonly op: string; readonly filters: readonly QueryFilter[] };
    }
  | { readonly filterType: "unaryFilter" };

export interface RunQueryRequest {
  readonly parent: string;
  readonly structuredQuery?: {
    readonly from: ReadonlyArray<{ readonly collectionId: string; readonly allDescendants: boolean }>;
    readonly where: QueryFilter | null;
    readonly orderBy: ReadonlyArray<{ readonly field: { readonly fieldPath: string }; readonly direction: string }>;
    readonly limit: { readonly value: number } | null;
  };
}

export type RunQueryResponse = { readonly document?: Document; readonly readTime: Timestamp };

export type Target = {
  readonly targetId: number;
  readonly once: boolean;
  /** Present if a client resumes a target of an earlier connection. */
  readonly resumeType?: "resumeToken" | "readTime";
} & (
  | { readonly targetType: "query" }
  | { readonly targetType: "documents"; readonly documents: { readonly documents: readonly string[] } }
);

export type ListenRequest = { readonly database: string } & (
  | { readonly targetChange: "addTarget"; readonly addTarget: Target }
  | { readonly targetChange: "removeTarget"; readonly removeTarget: number }
  | { readonly targetChange?: never }
);

export type ListenResponse =
  | {
      readonly targetChange: {
        readonly targetChangeType: "NO_CHANGE" | "ADD" | "REMOVE" | "CURRENT" | "RESET";
        readonly targetIds: readonly number[];
        readonly cause?: Status;
        readonly readTime?: Timestamp;
        readonly resumeToken?: Uint8Array;
      };
    }
  | { readonly documentChange: { readonly document: Document; readonly targetIds: readonly number[] } }
  | { readonly documentDelete: DocumentGone };

/** A document that does not exist. */
export interface DocumentGone {
  readonly document: string;
  readonly removedTargetIds: readonly number[];
  readonly readTime: Timestamp;
}
