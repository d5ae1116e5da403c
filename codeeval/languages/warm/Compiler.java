// A warm Java compiler: one virtual machine in which javac stays loaded and compiled.
//
//     java Compiler.java
//
// It reads requests from descriptor 0 and answers there; `codeeval/sandbox/_warm.py` has the form of both. A job's files
// are in its request and nowhere else, and what is compiled from them never touches a disk. Annotation processors,
// which are programs that run inside the compiler, are switched off whatever a request says.

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

class Compiler {
    private static final JavaCompiler JAVAC = ToolProvider.getSystemJavaCompiler();

    /** Keeps the indices of the platform's classes and of jars, by the class path that they were made for. */
    private static final Map<String, StandardJavaFileManager> MANAGERS = new LinkedHashMap<>();

    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in)));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.in)));
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        Locale.setDefault(Locale.ENGLISH);
        send(out, List.of(bytes("ready")));
        while (true) {
            List<byte[]> request;
            try {
                request = receive(in);
            } catch (EOFException end) {
                return;
            }
            List<byte[]> reply;
            try {
                reply = compile(request);
            } catch (Throwable error) {
                // The compiler broke, which may be the program's doing or ours: a fresh one must decide.
                reply = List.of(bytes("?"), bytes(String.valueOf(error)), bytes(""));
            }
            send(out, reply);
        }
    }

    /** Do what the command javac does with these arguments and files, down to its exit code. */
    private static List<byte[]> compile(List<byte[]> request) throws IOException {
        int nArguments = Integer.parseInt(text(request.get(0)));
        List<JavaFileObject> sources = new ArrayList<>();
        Map<String, String> files = new LinkedHashMap<>();
        for (int i = 1 + nArguments; i < request.size(); i += 2) {
            files.put(text(request.get(i)), text(request.get(i + 1)));
        }
        List<String> options = new ArrayList<>(List.of("-proc:none", "-implicit:none", "-sourcepath", ""));
        String classPath = "", directory = ".";
        for (int i = 1; i <= nArguments; i++) {
            String argument = text(request.get(i));
            if (argument.equals("-cp") || argument.equals("-classpath")) {
                classPath = text(request.get(++i));
            } else if (argument.equals("-d")) {
                directory = text(request.get(++i));
            } else if (argument.equals("-encoding")) {
                i++; // a request's texts are UTF-8
            } else if (files.containsKey(argument)) {
                sources.add(new Source(argument, files.get(argument)));
            } else if (!argument.equals("-proc:none")) {
                options.add(argument);
            }
        }
        Classes classes = new Classes(manager(classPath));
        StringWriter messages = new StringWriter();
        boolean isCompiled = JAVAC.getTask(messages, classes, null, options, null, sources).call();
        String said = messages.toString();
        // javac tells these by an exit code of its own; its task only says that it failed.
        if (!isCompiled && (said.contains("The system is out of resources.") || said.contains("An exception has occurred in the compiler"))) {
            return List.of(bytes("?"), bytes(said.substring(0, Math.min(1000, said.length()))), bytes(""));
        }
        List<byte[]> reply = new ArrayList<>(List.of(bytes(isCompiled ? "0" : "1"), bytes(""), bytes(said)));
        for (Map.Entry<String, ByteArrayOutputStream> made : classes.made.entrySet()) {
            reply.add(bytes(directory + "/" + made.getKey()));
            reply.add(made.getValue().toByteArray());
        }
        return reply;
    }

    private static StandardJavaFileManager manager(String classPath) throws IOException {
        StandardJavaFileManager manager = MANAGERS.get(classPath);
        if (manager == null) {
            manager = JAVAC.getStandardFileManager(null, Locale.ENGLISH, StandardCharsets.UTF_8);
            List<Path> places = new ArrayList<>();
            for (String place : classPath.split(":")) {
                if (place.endsWith(".jar")) { // directories, and no name at all, stand for where other jobs' files could be
                    places.add(Path.of(place));
                }
            }
            manager.setLocationFromPaths(StandardLocation.CLASS_PATH, places);
            MANAGERS.put(classPath, manager);
        }
        return manager;
    }

    /** One of a job's files. */
    private static final class Source extends SimpleJavaFileObject {
        private final String name;
        private final String code;

        Source(String name, String code) {
            super(URI.create("job:///" + URI.create(name.replace(" ", "%20")).getRawPath()), Kind.SOURCE);
            this.name = name;
            this.code = code;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return code;
        }

        @Override
        public String getName() {
            return name;
        }
    }

    /** Sees the platform's classes and those of jars, and keeps what is compiled in memory. */
    private static final class Classes extends ForwardingJavaFileManager<JavaFileManager> {
        final Map<String, ByteArrayOutputStream> made = new LinkedHashMap<>();

        Classes(JavaFileManager shared) {
            super(shared);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            String path = name.replace('.', '/') + kind.extension;
            return new SimpleJavaFileObject(URI.create("made:///" + path), kind) {
                @Override
                public OutputStream openOutputStream() {
                    ByteArrayOutputStream content = new ByteArrayOutputStream();
                    made.put(path, content);
                    return content;
                }
            };
        }

        @Override
        public boolean isSameFile(FileObject a, FileObject b) {
            return a == b || a.toUri().equals(b.toUri());
        }

        @Override
        public Iterable<JavaFileObject> list(Location location, String packageName, Set<JavaFileObject.Kind> kinds, boolean recurse) throws IOException {
            return location == StandardLocation.SOURCE_PATH ? List.of() : super.list(location, packageName, kinds, recurse);
        }

        @Override
        public void close() {} // the shared one is for the next job, too
    }

    // ------------------------------------------------------------------------------------------------ messages

    private static List<byte[]> receive(DataInputStream in) throws IOException {
        int n = in.readInt();
        List<byte[]> strings = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            byte[] string = new byte[in.readInt()];
            in.readFully(string);
            strings.add(string);
        }
        return strings;
    }

    private static void send(DataOutputStream out, List<byte[]> strings) throws IOException {
        out.writeInt(strings.size());
        for (byte[] string : strings) {
            out.writeInt(string.length);
            out.write(string);
        }
        out.flush();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
