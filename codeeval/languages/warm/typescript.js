// A warm TypeScript compiler: one process that loads the compiler and the declarations of its libraries once.
//
//     node typescript.js /path/to/typescript.js
//
// It reads requests from descriptor 0 and answers there; `codeeval/sandbox/_warm.py` has the form of both. A job's files
// are in its request and nowhere else: the compiler is given no file system but these and its own libraries.

'use strict';

const fs = require('node:fs');
const path = require('node:path');

const ts = require(process.argv[2]);
const LIBRARY = path.dirname(fs.realpathSync(process.argv[2]));
const HERE = '/box/';

/** Parsed declarations of the compiler's libraries, which no program changes: name and parse options → file. */
const libraries = new Map();

function serve() {
  send(['ready']);
  for (;;) {
    const request = receive();
    if (request === null) return;
    let reply;
    try {
      reply = compile(request);
    } catch (error) {
      // The compiler broke, which may be the program's doing or ours: one that has seen nothing else must decide.
      reply = ['?', `${error && error.name}: ${error && error.message}`.slice(0, 1000), ''];
    }
    send(reply);
  }
}

/** Do what the command `tsc` does with these arguments and files, down to its exit code. */
function compile(request) {
  const nArguments = Number(request[0].toString());
  const argv = request.slice(1, 1 + nArguments).map(String);
  const files = new Map();
  for (let i = 1 + nArguments; i < request.length; i += 2) {
    files.set(path.posix.join(HERE, request[i].toString()), request[i + 1].toString());
  }
  const command = ts.parseCommandLine(argv, name => files.get(path.posix.resolve(HERE, name)));
  if (command.errors.length) return ['1', format(command.errors), ''];
  const written = new Map();
  const host = new JobHost(files, written);
  const program = ts.createProgram(command.fileNames.map(absolute), command.options, host);
  const own = program.getSourceFiles().filter(file => files.has(file.fileName));
  // Emitting checks first what it emits: everything, unless one file is named.
  const alone = own.length === 1 && !reopens(own[0], program) ? own[0] : undefined;
  let diagnostics = [...program.getSyntacticDiagnostics()];
  if (!diagnostics.length) {
    diagnostics = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
    if (!diagnostics.length) diagnostics = [...program.getSemanticDiagnostics(alone)];
  }
  const emitted = program.emit(alone);
  diagnostics = ts.sortAndDeduplicateDiagnostics([...diagnostics, ...emitted.diagnostics]);
  const exitCode = diagnostics.length === 0 ? 0 : emitted.emitSkipped ? 1 : 2;
  const reply = [String(exitCode), format(diagnostics), ''];
  for (const [name, text] of written) reply.push(path.posix.relative(HERE, name), text);
  return reply;
}

/**
 * Say whether a program declares something that also stands in a library, or asks for another library beside ours.
 *
 * The command checks the libraries each time, which takes most of its time. They hold by themselves; what could make
 * them wrong is a program that reopens what they declare, and that takes a global name which both have, or a library that
 * declares the same as another.
 */
function reopens(file, program) {
  if (file.moduleAugmentations && file.moduleAugmentations.length) return true;
  if (file.libReferenceDirectives && file.libReferenceDirectives.length) return true;
  program.getTypeChecker(); // which has the names collected
  if (ts.isExternalModule(file) || !file.locals) return false;
  const shared = program.getSourceFiles().filter(other => other !== file && other.locals);
  for (const name of file.locals.keys()) {
    if (shared.some(other => other.locals.has(name))) return true;
  }
  return false;
}

/** What a compiler sees of the machine: one job's files, and its own libraries. */
class JobHost {
  constructor(files, written) {
    this.files = files;
    this.written = written;
  }
  getSourceFile(name, options) {
    const text = this.files.get(name);
    if (text !== undefined) return ts.createSourceFile(name, text, options);
    if (!isLibrary(name)) return undefined;
    const key = JSON.stringify([name, options]);
    let file = libraries.get(key);
    if (file === undefined && fs.existsSync(name)) {
      file = ts.createSourceFile(name, fs.readFileSync(name, 'utf8'), options);
      libraries.set(key, file);
    }
    return file;
  }
  getDefaultLibLocation() {
    return LIBRARY;
  }
  getDefaultLibFileName(options) {
    return path.posix.join(LIBRARY, ts.getDefaultLibFileName(options));
  }
  writeFile(name, text, mark) {
    this.written.set(absolute(name), (mark ? '\ufeff' : '') + text);
  }
  fileExists(name) {
    return this.files.has(name) || (isLibrary(name) && fs.existsSync(name));
  }
  readFile(name) {
    return this.files.get(name);
  }
  directoryExists(name) {
    const inside = name.endsWith('/') ? name : name + '/';
    return inside === HERE || [...this.files.keys()].some(file => file.startsWith(inside));
  }
  getDirectories() {
    return [];
  }
  realpath(name) {
    return name;
  }
  getCurrentDirectory() {
    return HERE.slice(0, -1);
  }
  getCanonicalFileName(name) {
    return name;
  }
  useCaseSensitiveFileNames() {
    return true;
  }
  getNewLine() {
    return '\n';
  }
}

function isLibrary(name) {
  return path.posix.dirname(name) === LIBRARY && name.endsWith('.d.ts');
}

function absolute(name) {
  return path.posix.resolve(HERE, name);
}

function format(diagnostics) {
  return ts.formatDiagnostics(diagnostics, {
    getCurrentDirectory: () => HERE.slice(0, -1),
    getCanonicalFileName: name => name,
    getNewLine: () => '\n',
  });
}

// ---------------------------------------------------------------------------------------------------- messages

/** Take the next request: byte strings, or null when nobody asks any more. */
function receive() {
  const head = read(4);
  if (head === null) return null;
  const strings = [];
  for (let n = head.readUInt32BE(0); n > 0; n--) strings.push(read(read(4).readUInt32BE(0)));
  return strings;
}

function read(size) {
  const data = Buffer.alloc(size);
  for (let at = 0; at < size; ) {
    const n = fs.readSync(0, data, at, size - at, null);
    if (n === 0) return null;
    at += n;
  }
  return data;
}

function send(strings) {
  const parts = [number(strings.length)];
  for (const text of strings) {
    const bytes = Buffer.from(text, 'utf8');
    parts.push(number(bytes.length), bytes);
  }
  const data = Buffer.concat(parts);
  for (let at = 0; at < data.length; ) at += fs.writeSync(0, data, at);
}

function number(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

serve();
