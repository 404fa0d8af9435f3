/** Just enough of HTTP/1.1 (RFC 9112) to read answers that carry a length or come in chunks. */

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");

/**
 * The first answer in the bytes: { status, mark, size }, `mark` its Idempotency-Status or null; null if not
 * whole yet.
 */
export function parseAnswer(bytes) {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const head = bytes.latin1Slice(0, headEnd);
  const bodyStart = headEnd + HEAD_END.length;
  const size = findEnd(bytes, bodyStart, head);
  if (size === null || bytes.length < size) return null;
  return {
    status: Number(head.slice(9, 12)),
    mark: /^idempotency-status: *(\S+)/im.exec(head)?.[1] ?? null,
    size,
  };
}

function findEnd(bytes, bodyStart, head) {
  const length = /^content-length: *(\d+)/im.exec(head);
  if (length !== null) return bodyStart + Number(length[1]);
  if (/^transfer-encoding: *chunked/im.test(head)) return findLastChunk(bytes, bodyStart);
  return bodyStart;
}

function findLastChunk(bytes, bodyStart) {
  let position = bodyStart;
  for (;;) {
    const lineEnd = bytes.indexOf(LINE_END, position);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(bytes.latin1Slice(position, lineEnd), 16);
    position = lineEnd + LINE_END.length + size + LINE_END.length;
    if (size === 0) return position;
  }
}
