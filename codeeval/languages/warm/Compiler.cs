// A warm C# compiler: one process in which Mono's mcs stays loaded and compiled.
//
//     mcs -r:/usr/lib/mono/4.5/mcs.exe -out:Compiler.exe Compiler.cs && mono Compiler.exe
//
// It reads requests from descriptor 0 and answers there; `codeeval/sandbox/_warm.py` has the form of both. The compiler
// can only read and write files, so a job's lie in the work directory while it is compiled, and never longer.

using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text;
using Mono.CSharp;

static class Program
{
    static readonly string Box = Directory.GetCurrentDirectory();
    const string Job = "job", Made = "made";

    // The parser has one stack for all programs, on which the trees of those before it lie about.
    static readonly FieldInfo ParserStack = typeof(CompilerContext).Assembly.GetType("Mono.CSharp.CSharpParser")
        ?.GetField("global_yyVals", BindingFlags.Static | BindingFlags.NonPublic);

    // Mono's streams would only read from this descriptor, and what mono itself has to say goes to stdout.
    [DllImport("libc", EntryPoint = "read")]
    static extern IntPtr ReadFrom(int descriptor, byte[] data, IntPtr size);
    [DllImport("libc", EntryPoint = "write")]
    static extern IntPtr WriteTo(int descriptor, byte[] data, IntPtr size);

    static int Main()
    {
        Console.SetOut(TextWriter.Null);
        Send(new List<byte[]> { Bytes("ready") });
        for (;;)
        {
            List<byte[]> request = Receive();
            if (request == null) return 0;
            List<byte[]> reply;
            try
            {
                reply = Compile(request);
            }
            catch (Exception error)
            {
                // The compiler broke, which may be the program's doing or ours: a fresh one must decide.
                reply = new List<byte[]> { Bytes("?"), Bytes(error.GetType() + ": " + error.Message), Bytes("") };
            }
            Send(reply);
            Forget();
        }
    }

    // Let go of all that was made for a program. While one is compiled, everything is alive and would be copied about;
    // now next to nothing is.
    static void Forget()
    {
        RootContext.ToplevelTypes = null;
        var stack = ParserStack?.GetValue(null) as Array;
        if (stack != null) Array.Clear(stack, 0, stack.Length);
        GC.Collect();
    }

    // Do what the command mcs does with these arguments and files, down to its exit code.
    static List<byte[]> Compile(List<byte[]> request)
    {
        int nArguments = int.Parse(Text(request[0]));
        string[] arguments = request.GetRange(1, nArguments).ConvertAll(Text).ToArray();
        string output = "";
        for (int i = 0; i < nArguments; i++)
        {
            if (!arguments[i].StartsWith("-out:")) continue;
            output = arguments[i].Substring("-out:".Length);
            arguments[i] = "-out:" + Path.Combine(Box, Made, Path.GetFileName(output));
        }
        Directory.SetCurrentDirectory(Box);
        Clear();
        Directory.CreateDirectory(Job);
        Directory.CreateDirectory(Made);
        Directory.SetCurrentDirectory(Path.Combine(Box, Job));
        try
        {
            for (int i = 1 + nArguments; i < request.Count; i += 2)
            {
                string name = Text(request[i]);
                string directory = Path.GetDirectoryName(name);
                if (directory.Length > 0) Directory.CreateDirectory(directory);
                File.WriteAllBytes(name, request[i + 1]);
            }
            var messages = new StringWriter();
            bool isCompiled = CompilerCallableEntryPoint.InvokeCompiler(arguments, messages);
            string said = messages.ToString();
            if (said.Contains("Internal compiler error"))
                return new List<byte[]> { Bytes("?"), Bytes(said.Substring(0, Math.Min(1000, said.Length))), Bytes("") };
            var reply = new List<byte[]> { Bytes(isCompiled ? "0" : "1"), Bytes(""), Bytes(said) };
            if (isCompiled)
            {
                reply.Add(Bytes(output));
                reply.Add(File.ReadAllBytes(Path.Combine(Box, Made, Path.GetFileName(output))));
            }
            return reply;
        }
        finally
        {
            Directory.SetCurrentDirectory(Box);
            Clear();
        }
    }

    static void Clear()
    {
        foreach (string name in new[] { Job, Made })
            if (Directory.Exists(name)) Directory.Delete(name, true);
    }

    // -------------------------------------------------------------------------------------------------- messages

    static List<byte[]> Receive()
    {
        byte[] head = Read(4);
        if (head == null) return null;
        var strings = new List<byte[]>();
        for (int n = Number(head); n > 0; n--) strings.Add(Read(Number(Read(4))));
        return strings;
    }

    static byte[] Read(int size)
    {
        var data = new byte[size];
        var piece = new byte[Math.Min(size, 1 << 16)];
        for (int at = 0; at < size;)
        {
            int n = (int)ReadFrom(0, piece, (IntPtr)Math.Min(piece.Length, size - at));
            if (n <= 0) return null;
            Array.Copy(piece, 0, data, at, n);
            at += n;
        }
        return data;
    }

    static void Send(List<byte[]> strings)
    {
        var data = new MemoryStream();
        Write(data, strings.Count);
        foreach (byte[] text in strings)
        {
            Write(data, text.Length);
            data.Write(text, 0, text.Length);
        }
        byte[] left = data.ToArray();
        while (left.Length > 0)
        {
            int n = (int)WriteTo(0, left, (IntPtr)left.Length);
            if (n <= 0) Environment.Exit(1);
            var rest = new byte[left.Length - n];
            Array.Copy(left, n, rest, 0, rest.Length);
            left = rest;
        }
    }

    static void Write(Stream stream, int value)
    {
        stream.Write(new[] { (byte)(value >> 24), (byte)(value >> 16), (byte)(value >> 8), (byte)value }, 0, 4);
    }

    static int Number(byte[] bytes)
    {
        return bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    }

    static byte[] Bytes(string text)
    {
        return Encoding.UTF8.GetBytes(text);
    }

    static string Text(byte[] bytes)
    {
        return Encoding.UTF8.GetString(bytes);
    }
}
